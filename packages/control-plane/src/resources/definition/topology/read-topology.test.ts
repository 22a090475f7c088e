import { describe, expect, it } from 'vitest'
import { LINES_MAX, readTopology as read, summarizeErrors, WORDS_MAX } from './read-topology.ts'
import { WORDS_PER_SLICE } from './yaml-tokens.ts'

const LAB = `lab:
  version: 0.3.0
  title: two routers
nodes:
  - id: n0
    label: r1
    node_definition: iol-xe
    tags: [serial:5000, 'pat:8080:80']
    x: 0
    y: 0
  - id: n1
    label: r2
    node_definition: iol-xe
    ram: 1024
    x: 200
    y: 0
links: []
`

const readTopology = (text: string) => read(text, async () => undefined)

const refusal = async (text: string) => {
  const reading = await readTopology(text)
  return reading.ok ? 'taken' : reading.errors.map(error => `${error.line} ${error.path}: ${error.message}`).join('; ')
}

it('reads a lab', async () => {
  const reading = await readTopology(LAB)
  expect(reading.ok && reading.topology.nodes.map(({ label }) => label)).toEqual(['r1', 'r2'])
  expect(reading.ok && reading.sha256).toMatch(/^[0-9a-f]{64}$/)
})

it('reads a list that is repeated by reference', async () => {
  const text = LAB.replace('[serial:5000', '&tags [serial:5000').replace('ram: 1024', 'tags: *tags')
  const reading = await readTopology(text)
  expect(reading.ok && reading.topology.nodes[1]?.tags).toEqual(['serial:5000', 'pat:8080:80'])
})

describe('reports the line of the error', () => {
  it.each([
    ['a field', LAB.replace('label: r2', 'label: 7'), /^12 body\.topology\.nodes\.1\.label: it must be text/],
    [
      'a field that is missing',
      LAB.replace('    node_definition: iol-xe\n    ram', '    ram'),
      /^11 body\.topology\.nodes\.1\.node_definition/,
    ],
    ['a duplicate label', LAB.replace('label: r2', 'label: r1'), /^11 .*label r1 is that of node 0 too/],
    ['a link to a missing node', LAB.replace('[]', '[{id: l0, n1: n0, n2: n9, i1: i0, i2: i0}]'), /^17 .*no node n9/],
    ['an unknown version', LAB.replace('0.3.0', '9.0.0'), /^2 body\.topology\.lab\.version/],
    ['a tab', LAB.replace('    label: r2', '\tlabel: r2'), /^12 /],
    [
      'a key that occurs twice',
      LAB.replace('    ram: 1024', '    ram: 1024\n    ram: 2048'),
      /^15 .*ram is there already/,
    ],
    ['an unclosed quote', LAB.replace('label: r2', 'label: "r2'), /^1\d /],
    ['NUL', LAB.replace('label: r2', 'label: "r\\02"'), /^12 .*NUL/],
    ['a lone surrogate', LAB.replace('label: r2', 'label: "\\ud800"'), /^12 .*half/],
    ['__proto__', LAB.replace('ram: 1024', '__proto__: {a: 1}'), /^11 .*__proto__/],
    ['a tag of another language', LAB.replace('label: r2', 'label: !!python/object:os.system r2'), /^12 .*tag/i],
    ['a second document', `${LAB}---\nlab: {}\n`, /^18 .*second document/],
    ['a list for a map', '- a\n- b\n', /^1 body\.topology: it is no lab of CML/],
    ['text', 'hello', /^1 body\.topology: it is no lab of CML/],
    ['nothing', '', /^1 .*(empty|no lab)/],
    ['a lab without nodes', `${LAB.slice(0, LAB.indexOf('nodes:'))}nodes: []\nlinks: []\n`, /^4 .*at least one node/],
  ])('%s', async (_, text, expected) => {
    expect(await refusal(text)).toMatch(expected)
  })
})

const QUOTED = /more than 400000 characters in quotes/
const TOO_MANY = /more than 100000 words/

describe('ends soon for', () => {
  const laughs = [...'abcdefghi'].reduce(
    (text, name, place, all) =>
      `${text}${name}: &${name} [${Array.from({ length: 9 }, () => (place === 0 ? 'lol' : `*${all[place - 1]}`)).join(', ')}]\n`,
    '',
  )
  it.each([
    ['a billion laughs', laughs, /alias/i],
    ['an alias that contains itself', 'a: &a [*a]\n', /^1 body\.topology\.a\.0: it refers to itself$/],
    ['a long text repeated', `a: &a ${'x'.repeat(500_000)}\nb: [${'*a, '.repeat(99)}]\n`, /references/],
    ['101 aliases', `a: &a 1\nb: [${'*a, '.repeat(101)}]\n`, /^2 .*more than 100 aliases/],
    ['100 levels in flow', `a: ${'['.repeat(100)}${']'.repeat(100)}`, /^1 .*deep/],
    ['100 levels in blocks', Array.from({ length: 100 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), /^\d+ .*deep/],
    ['a million brackets', '['.repeat(1_000_000), /^1 .*deep/],
    ['a million dashes', '- '.repeat(500_000), /^1 .*deep/],
    ['too many characters', `a: ${'x'.repeat(1024 * 1024)}`, /at most 1048576 characters/],
    ['too many lines', `a: |\n${' x\n'.repeat(LINES_MAX)}`, /^60001 .*at most 60000 lines/],
    ['many keys', `{${Array.from({ length: 60_000 }, (_, n) => `k${n}: 1`).join(',')}}`, TOO_MANY],
    ['many numbers', `a:\n  b: [${'1,'.repeat(500_000)}]`, /^2 .*more than 100000 words/],
    ['many comments', `a: 1\n${'#\n'.repeat(59_000)}`, TOO_MANY],
    ['many brackets', `a: [${'[],'.repeat(20_000)}]`, /^1 .*more than 10000 brackets/],
    ['a long text in quotes', `a: "${'x '.repeat(300_000)}"`, QUOTED],
    ['many documents', '---\n'.repeat(50_000), /^\d\d? .*no single document/],
    ['many directives', '%a\n'.repeat(50_000), /^\d\d? .*no single document/],
    ['many unmatched brackets', '}'.repeat(1_000_000), /^1 .*no single document/],
  ])('%s', async (_, text, expected) => {
    expect(await refusal(text)).toMatch(expected)
  })
})

async function pausesOf(text: string): Promise<number> {
  let pauses = 0
  await read(text, async () => {
    pauses += 1
  })
  return pauses
}

describe('a topology of any length', () => {
  const many = `a:\n${Array.from({ length: 20_000 }, (_, n) => `- ${n}\n`).join('')}`

  it('does not block other work while it is read', async () => {
    expect(await pausesOf(LAB)).toBe(0)
    // A dash, a blank, a number and a line end each time.
    expect(await pausesOf(many)).toBeGreaterThanOrEqual((4 * 20_000) / WORDS_PER_SLICE)
  })

  it('is not read beyond the limits', async () => {
    expect(await pausesOf(`a: [${'1,'.repeat(500_000)}]`)).toBe(WORDS_MAX / WORDS_PER_SLICE)
  })

  it('gets at most twenty errors', async () => {
    const reading = await readTopology(`a:\n${'- &a &b 1\n'.repeat(5_000)}`)
    expect(reading.ok ? 0 : reading.errors.length).toBe(20)
  })
})

it('joins the first errors into one sentence', async () => {
  const reading = await readTopology(LAB.replace('label: r2', 'label: 7').replace('0.3.0', '9'))
  expect(reading.ok ? '' : summarizeErrors(reading.errors)).toMatch(/^line 2: lab\.version: .* \(and 1 more\)$/)
})

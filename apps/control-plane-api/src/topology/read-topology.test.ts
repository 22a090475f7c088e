import { systemClock } from '@lcm/runtime/clock'
import { describe, expect, it } from 'vitest'
import { gistOf, readTopology } from './read-topology.ts'

const LAB = `lab:
  version: 0.3.0
  title: two routers
nodes:
  - id: n0
    label: r1
    node_definition: iol-xe
    tags: [serial:5000, 'pat:8080:80']
  - id: n1
    label: r2
    node_definition: iol-xe
    ram: 1024
links: []
`

const refusal = (text: string) => {
  const reading = readTopology(text)
  return reading.ok ? 'taken' : reading.errors.map(error => `${error.line} ${error.path}: ${error.message}`).join('; ')
}

it('reads a lab', () => {
  const reading = readTopology(LAB)
  expect(reading.ok && reading.topology.nodes.map(({ label }) => label)).toEqual(['r1', 'r2'])
  expect(reading.ok && reading.sha256).toMatch(/^[0-9a-f]{64}$/)
})

it('reads a list that is repeated by reference', () => {
  const text = LAB.replace('[serial:5000', '&tags [serial:5000').replace('ram: 1024', 'tags: *tags')
  const reading = readTopology(text)
  expect(reading.ok && reading.topology.nodes[1]?.tags).toEqual(['serial:5000', 'pat:8080:80'])
})

describe('says the line that is wrong', () => {
  it.each([
    ['a field', LAB.replace('label: r2', 'label: 7'), /^10 body\.topology\.nodes\.1\.label: .*string/],
    [
      'a field that is missing',
      LAB.replace('    node_definition: iol-xe\n    ram', '    ram'),
      /^9 body\.topology\.nodes\.1\.node_definition/,
    ],
    ['a label that occurs twice', LAB.replace('label: r2', 'label: r1'), /^9 .*label r1 is that of node 0 too/],
    ['a link to nowhere', LAB.replace('[]', '[{id: l0, n1: n0, n2: n9, i1: i0, i2: i0}]'), /^13 .*no node n9/],
    ['a version of tomorrow', LAB.replace('0.3.0', '9.0.0'), /^2 body\.topology\.lab\.version/],
    ['a tab', LAB.replace('    label: r2', '\tlabel: r2'), /^10 /],
    [
      'a key that occurs twice',
      LAB.replace('    ram: 1024', '    ram: 1024\n    ram: 2048'),
      /^13 .*ram is there already/,
    ],
    ['a quote that is not closed', LAB.replace('label: r2', 'label: "r2'), /^1\d /],
    ['NUL', LAB.replace('label: r2', 'label: "r\\02"'), /^10 .*NUL/],
    ['half of a character', LAB.replace('label: r2', 'label: "\\ud800"'), /^10 .*half/],
    ['__proto__', LAB.replace('ram: 1024', '__proto__: {a: 1}'), /^9 .*__proto__/],
    ['a tag of somebody else', LAB.replace('label: r2', 'label: !!python/object:os.system r2'), /^10 .*tag/i],
    ['a second document', `${LAB}---\nlab: {}\n`, /^14 .*second document/],
    ['a list for a map', '- a\n- b\n', /^1 body\.topology: .*object/],
    ['text', 'hello', /^1 body\.topology: .*object/],
    ['nothing', '', /^1 .*(empty|object)/],
    ['a lab without nodes', `${LAB.slice(0, LAB.indexOf('nodes:'))}nodes: []\nlinks: []\n`, /^4 .*at least one node/],
  ])('%s', (_, text, expected) => {
    expect(refusal(text)).toMatch(expected)
  })
})

describe('ends soon with', () => {
  const laughs = [...'abcdefghi'].reduce(
    (text, name, place, all) =>
      `${text}${name}: &${name} [${Array.from({ length: 9 }, () => (place === 0 ? 'lol' : `*${all[place - 1]}`)).join(', ')}]\n`,
    '',
  )
  it.each([
    ['a billion laughs', laughs, /alias/i],
    ['an alias of itself', 'a: &a [*a]\n', /references|deep|alias/i],
    ['a long text repeated', `a: &a ${'x'.repeat(500_000)}\nb: [${'*a, '.repeat(99)}]\n`, /references/],
    ['101 aliases', `a: &a 1\nb: [${'*a, '.repeat(101)}]\n`, /^2 .*more than 100 aliases/],
    ['100 levels in flow', `a: ${'['.repeat(100)}${']'.repeat(100)}`, /^1 .*deep/],
    ['100 levels in blocks', Array.from({ length: 100 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), /^\d+ .*deep/],
    ['a million brackets', '['.repeat(1_000_000), /^1 .*deep/],
    ['a million dashes', '- '.repeat(500_000), /^1 .*deep/],
    ['too many characters', `a: ${'x'.repeat(2 * 1024 * 1024)}`, /at most 2097152 characters/],
    ['many keys', `{${Array.from({ length: 100_000 }, (_, n) => `k${n}: 1`).join(',')}}`, /lab/],
  ])('%s', (_, text, expected) => {
    const began = systemClock.monotonic()
    expect(refusal(text)).toMatch(expected)
    expect(systemClock.monotonic() - began).toBeLessThan(4_000)
  })
})

it('says the first of many in a sentence', () => {
  const reading = readTopology(LAB.replace('label: r2', 'label: 7').replace('0.3.0', '9'))
  expect(reading.ok ? '' : gistOf(reading.errors)).toMatch(/^line 2: lab\.version: .* \(and 1 more\)$/)
})

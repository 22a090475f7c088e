import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aTemplate } from '../testing/resource-builders.ts'

const WORDS_MAX = 5_000
const TEMPLATE = `name: big
instance_types: [m5.metal]
ami_name_pattern: cml-*
ami_owner: self
capacity: { cpu_cores: 96, memory_gb: 300, storage_gb: 100, max_nodes: 100 }
cost_per_hour_usd: 5
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-hostile-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function given(content: string | Buffer, command: readonly string[]) {
  const file = join(folder, 'it.yaml')
  writeFileSync(file, content)
  return ran(file, command)
}

async function ran(file: string, command: readonly string[]) {
  const { shell, out, err, api } = capturedShell()
  if (command.includes('edit')) api.putTemplate(aTemplate({ name: 'big' }))
  const code = await run([...command, file], shell)
  const sent = api.requests().filter(request => !request.startsWith('GET'))
  return { code, file, out: out(), err: err(), sent }
}

/** Nothing is sent, and a person learns which file is meant. */
function refused({ code, err, file, sent }: Awaited<ReturnType<typeof given>>): void {
  expect({ sent, code: code === 1 || code === 2, err }).toEqual({
    sent: [],
    code: true,
    err: expect.stringContaining(file),
  })
  expect(err).not.toContain('a defect')
  expect(err.length).toBeLessThan(WORDS_MAX)
}

const APPLY = ['apply', '-f']
const READERS = [
  ['apply', APPLY],
  ['create template', ['create', 'template', '-f']],
  ['edit template', ['edit', 'template', 'big', '-f']],
] as const
const ALL = [...READERS, ['create definition', ['create', 'definition', '--file']]] as const

const BOMB = `${TEMPLATE}a: &a [${'x, '.repeat(10)}]\n${Array.from(
  { length: 9 },
  (_, n) => `${'bcdefghij'[n]}: &${'bcdefghij'[n]} [${`*${'abcdefghi'[n]}, `.repeat(10)}]`,
).join('\n')}\n`

const HOSTILE: ReadonlyArray<readonly [string, string]> = [
  ['aliases that grow without end', BOMB],
  ['an alias of itself', `${TEMPLATE}labels: &a { a: *a }\n`],
  ['an alias of nothing', `${TEMPLATE}description: *nothing\n`],
  ['the same key twice', `${TEMPLATE}name: small\n`],
  ['a prototype', `${TEMPLATE}__proto__: { polluted: yes }\n`],
  ['lists within lists', `${TEMPLATE}labels: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`],
  ['lists that never end', '['.repeat(100_000)],
  ['maps within maps', `${TEMPLATE}labels: ${'{a: '.repeat(5_000)}1${'}'.repeat(5_000)}\n`],
  ['dashes within dashes', `${'- '.repeat(5_000)}x\n`],
  ['JSON that nests', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
  ['a name of a million letters', TEMPLATE.replace('big', 'x'.repeat(1_000_000))],
  ['a number beyond all numbers', TEMPLATE.replace('96', '9'.repeat(10_000))],
  [
    'tags of another language',
    `${TEMPLATE}description: !!js/function 'function () { return 1 }'\nlabels: !!set { a }\n`,
  ],
  ['bytes as a name', TEMPLATE.replace('big', '!!binary aGVsbG8=')],
  ['ten thousand documents', '---\n'.repeat(10_000)],
  ['zero bytes', '\0'.repeat(1_000)],
  ['a page of HTML', '<!doctype html><html><body>Sign in</body></html>'],
  ['nothing', ''],
  ['only a comment', '# nothing yet\n'],
]

describe.each(READERS)('%s', (_name, command) => {
  it.each(HOSTILE)('refuses a file with a clear reason: %s', async (_what, content) => {
    refused(await given(content, command))
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it.each([
    ['line ends of Windows', TEMPLATE.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\ufeff${TEMPLATE}`],
    ['an alias in measure', TEMPLATE.replace('cml-*', '&a cml-*').replace('self', '*a')],
  ])('accepts %s', async (_what, content) => {
    expect(await given(content, command)).toMatchObject({ code: 0, err: '' })
  })
})

describe.each(ALL)('%s', (_name, command) => {
  it.each([
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(`${TEMPLATE}description: `), Buffer.from([0xff, 0xc0, 0x0a])]),
    ],
    ['UTF-16, as some editors write it', Buffer.from(`\ufeff${TEMPLATE}`, 'utf16le')],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d])],
  ])('refuses %s', async (_what, content) => {
    const outcome = await given(content, command)
    refused(outcome)
    expect(outcome.err).toContain('UTF-8')
  })

  it('refuses a file that is too large, without reading it', async () => {
    const file = join(folder, 'large.yaml')
    writeFileSync(file, '')
    truncateSync(file, 1_000_000_000)
    const before = process.memoryUsage().rss
    refused(await ran(file, command))
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
  })

  it('refuses a missing file', async () => {
    refused(await ran(join(folder, 'none.yaml'), command))
  })

  it('refuses a folder in place of a file', async () => {
    const outer = join(folder, 'outer')
    await mkdir(join(outer, 'inner.yaml'), { recursive: true })
    refused(await ran(outer, command))
  })
})

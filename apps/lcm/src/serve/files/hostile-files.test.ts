import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@lcm/runtime'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readRegionsFile } from './regions-file.ts'
import { readTemplateFiles } from './template-files.ts'

const WORDS_MAX = 5_000
const TEMPLATE = `name: big
instance_types: [m5.metal]
ami_name_pattern: cml-*
ami_owner: self
capacity: { cpu_cores: 96, memory_gb: 300, storage_gb: 100, max_nodes: 100 }
cost_per_hour_usd: 5
`
const REGIONS = 'aws_region_configs:\n  us-east-1: { subnets: [subnet-a] }\n'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-files-'))
  file = join(folder, 'it.yaml')
})
afterEach(() => rmSync(folder, { recursive: true }))

const failureOf = (path: string): string => {
  try {
    readRegionsFile(path)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}

const BOMB = `a: &a [${'x, '.repeat(10)}]\n${Array.from(
  { length: 9 },
  (_, n) => `${'bcdefghij'[n]}: &${'bcdefghij'[n]} [${`*${'abcdefghi'[n]}, `.repeat(10)}]`,
).join('\n')}\n`

const HOSTILE: ReadonlyArray<readonly [string, string | Buffer, RegExp]> = [
  ['aliases that grow without end', BOMB, /alias/i],
  ['an alias of nothing', 'a: *nothing\n', /alias/i],
  ['the same key twice', `${REGIONS}${REGIONS}`, /unique/i],
  ['a prototype', `${REGIONS}__proto__: { polluted: yes }\n`, /__proto__/],
  ['lists within lists', `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`, /nested|deep/i],
  ['lists that never end', '['.repeat(100_000), /nested|deep|flow/i],
  ['a number beyond all numbers', `aws_region_configs: ${'9'.repeat(10_000)}\n`, /aws_region_configs/],
  ['zero bytes', '\0'.repeat(1_000), /expected/i],
  ['UTF-16, as some editors write it', Buffer.from(`\ufeff${REGIONS}`, 'utf16le'), /UTF-8/],
  ['bytes that are no UTF-8', Buffer.concat([Buffer.from(REGIONS), Buffer.from([0x23, 0xff, 0x0a])]), /UTF-8/],
]

describe('a regions file', () => {
  it.each(HOSTILE)('is refused with its path and a reason: %s', (_name, content, reason) => {
    writeFileSync(file, content)
    const message = failureOf(file)
    expect(message).toMatch(reason)
    expect(message).toContain(`AWS_REGIONS_CONFIG_PATH=${file}`)
    expect(message.length).toBeLessThan(WORDS_MAX)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('is refused when it is a folder or too large', () => {
    expect(failureOf(folder)).toMatch(/AWS_REGIONS_CONFIG_PATH=.*directory/)
    writeFileSync(file, '')
    truncateSync(file, 1_000_000_000)
    expect(failureOf(file)).toMatch(/AWS_REGIONS_CONFIG_PATH=.*it is larger than/)
  })

  it.each([
    ['line ends of Windows', REGIONS.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\ufeff${REGIONS}`],
  ])('may have %s', (_name, content) => {
    writeFileSync(file, content)
    expect(Object.keys(readRegionsFile(file))).toEqual(['us-east-1'])
  })
})

describe('a folder of templates', () => {
  it('is read except for invalid files, and each of those is named', () => {
    writeFileSync(join(folder, 'good.yaml'), TEMPLATE)
    mkdirSync(join(folder, 'folder.yaml'))
    for (const [n, [, content]] of HOSTILE.entries()) writeFileSync(join(folder, `bad-${n}.yaml`), content)
    const warned: unknown[] = []
    const log = { ...silentLogger, warn: (fields: object) => void warned.push('file' in fields && fields.file) }
    expect(readTemplateFiles(folder, log).map(({ name }) => name)).toEqual(['big'])
    expect(warned.sort()).toEqual([...HOSTILE.map((_, n) => `bad-${n}.yaml`), 'folder.yaml'].sort())
  })
})

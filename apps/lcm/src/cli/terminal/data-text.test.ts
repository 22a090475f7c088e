import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { toJson, toYaml } from './data-text.ts'

const HOSTILE = 'a\u001b[2J\u009b2J\u0085\u007f\u202eb\u2066c\u2069\u2028\u00ad\u{e0041}\u{1d173}\nd'
const RAW = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

it.each([
  ['JSON', async (value: unknown) => toJson(value, 2), JSON.parse],
  ['YAML', toYaml, (text: string): unknown => parse(text)],
] as const)('escapes what a terminal obeys in %s, and stays the same data', async (_name, write, read) => {
  const value = { name: HOSTILE, [HOSTILE]: [HOSTILE, { deep: `${HOSTILE}\n${HOSTILE}`.repeat(20) }], plain: 'b' }
  const text = await write(value)
  expect(text).not.toMatch(RAW)
  expect(read(text)).toEqual(value)
})

it('leaves other text as it is', async () => {
  const value = { name: 'می\u200cخواهم', emoji: '👩\u200d👧', lines: 'a\nb\n', text: 'true' }
  expect(toJson(value)).toBe(JSON.stringify(value))
  expect(await toYaml(value)).toBe('name: می\u200cخواهم\nemoji: 👩\u200d👧\nlines: |\n  a\n  b\ntext: "true"')
})

it('stays the same data for any text', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 }).filter(each => !/\p{Surrogate}/u.test(each))
  const property = fc.asyncProperty(fc.dictionary(text, text, { maxKeys: 3 }), async value => {
    expect(JSON.parse(toJson(value))).toEqual(value)
    const yaml = await toYaml(value)
    expect(yaml).not.toMatch(RAW)
    expect(parse(yaml)).toEqual(value)
  })
  await fc.assert(property, { numRuns: 50 })
})

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readTopology } from './read-topology.ts'

const LAB = readFileSync('examples/labs/two-routers.yaml', 'utf8')
/** Characters with a meaning in YAML. */
const SIGNS = [
  '\n',
  ' ',
  '\t',
  ':',
  '-',
  '- ',
  '&a',
  '*a',
  '<<: *a',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '|',
  '>',
  '#',
  '!!binary',
  '%YAML 9',
  '---',
  '...',
  '\u0000',
  '\ud800',
  '\u2028',
  '1e999',
  '0o7',
  '.nan',
  '!!set',
  '? ',
]

const hostile = fc
  .array(fc.tuple(fc.nat(LAB.length), fc.nat(12), fc.oneof(fc.constantFrom(...SIGNS), fc.string({ maxLength: 8 }))), {
    maxLength: 8,
  })
  .map(edits => edits.reduce((text, [at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone), LAB))

it('returns a lab or a list of errors with lines, for any text', async () => {
  const property = fc.asyncProperty(
    fc.oneof(hostile, hostile, fc.string({ unit: 'binary', maxLength: 300 })),
    async text => {
      const reading = await readTopology(text, async () => undefined)
      if (reading.ok) return
      expect(reading.errors.length).toBeGreaterThan(0)
      for (const { line, message } of reading.errors) expect([line && line >= 1, message !== '']).toEqual([true, true])
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

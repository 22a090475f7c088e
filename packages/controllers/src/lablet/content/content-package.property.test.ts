import fc from 'fast-check'
import { expect, it } from 'vitest'
import { aZip } from '../testing/zip-builder.ts'
import { readPackage } from './content-package.ts'
import { ContentError } from './content-sources.ts'

const YAML = 'lab:\n  version: 0.3.0\nnodes: []\nlinks: []\n'
const zip = aZip([
  { name: 'topology.yaml', data: YAML },
  { name: 'pictures/a.png', data: 'x'.repeat(3_000) },
  { name: 'stored.txt', data: 'as it is', isStored: true },
])

/** The zip with some bytes changed, cut somewhere, or with extra bytes around it. */
const damaged = fc
  .record({
    changes: fc.array(fc.tuple(fc.nat(zip.length - 1), fc.nat(255)), { maxLength: 6 }),
    from: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(zip.length) }),
    to: fc.oneof({ weight: 4, arbitrary: fc.constant(zip.length) }, { weight: 1, arbitrary: fc.nat(zip.length) }),
    more: fc.uint8Array({ maxLength: 40 }),
  })
  .map(({ changes, from, to, more }) => {
    const bytes = Buffer.from(zip)
    for (const [at, value] of changes) bytes[at] = value
    return Buffer.concat([bytes.subarray(from, to), more])
  })

it('is read or refused with a ContentError, whatever its bytes', () => {
  const property = fc.property(fc.oneof(damaged, damaged, fc.uint8Array({ maxLength: 200 })), bytes => {
    try {
      expect(typeof readPackage(Buffer.from(bytes)).topology).toBe('string')
    } catch (error) {
      expect(error).toBeInstanceOf(ContentError)
    }
  })
  fc.assert(property, { numRuns: 2_000 })
})

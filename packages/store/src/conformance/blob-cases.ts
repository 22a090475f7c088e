import { describe, expect, it } from 'vitest'
import { CHUNK_BYTES } from '../blob-chunks.ts'
import { eachCrash } from './crash-cases.ts'
import type { StoreFixture } from './store-fixture.ts'

/** Bytes that repeat in no chunk, so that a lost or swapped chunk shows. */
const content = (bytes: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, n) => (n * seed + Math.floor(n / CHUNK_BYTES)) % 251)

const SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES]
const LARGE = content(2 * CHUNK_BYTES + 7)
const OTHER = content(CHUNK_BYTES + 3, 3)

export function blobCases(fixture: StoreFixture): void {
  const blobs = () => fixture.store().blobs
  const isStored = async (id: string, expected: Uint8Array) =>
    Buffer.compare((await blobs().read(id)) ?? Buffer.from('missing'), expected) === 0

  describe('blobs', () => {
    it.each(SIZES)('of %i bytes are read as they were written, also after a restart', async size => {
      expect(await blobs().write('a', content(size))).toBe(true)
      expect(await isStored('a', content(size))).toBe(true)
      await fixture.reopen()
      expect(await isStored('a', content(size))).toBe(true)
    })

    it('are written once', async () => {
      expect(await blobs().write('a', LARGE)).toBe(true)
      expect(await blobs().write('a', LARGE)).toBe(true)
      expect(await blobs().write('a', OTHER)).toBe(false)
      expect(await isStored('a', LARGE)).toBe(true)
      expect(await blobs().total()).toEqual({ count: 1, bytes: LARGE.length })
    })

    it('that two writers write at once have the content of one of them', async () => {
      const written = await Promise.all([blobs().write('a', LARGE), blobs().write('a', OTHER)])
      expect(written.filter(Boolean)).toHaveLength(1)
      expect(await isStored('a', written[0] ? LARGE : OTHER)).toBe(true)
    })

    it('are listed by id and removed', async () => {
      expect(await blobs().ids({ limit: 9 })).toEqual([])
      for (const id of ['b', 'a', 'c']) await blobs().write(id, id === 'b' ? LARGE : content(3))
      expect(await blobs().ids({ limit: 2 })).toEqual(['a', 'b'])
      expect(await blobs().ids({ after: 'b', limit: 2 })).toEqual(['c'])
      expect(await blobs().total()).toEqual({ count: 3, bytes: LARGE.length + 6 })
      await blobs().remove('b')
      await blobs().remove('b')
      expect(await blobs().read('b')).toBeNull()
      expect(await blobs().ids({ limit: 9 })).toEqual(['a', 'c'])
      expect(await blobs().total()).toEqual({ count: 2, bytes: 6 })
      expect(await blobs().read('missing')).toBeNull()
    })

    it('survive a crash at every call of a write', async () => {
      const crashes = await eachCrash(fixture, {
        prepare: async () => undefined,
        act: store => store.blobs.write('a', LARGE),
        check: async acknowledged => {
          const isWhole = await isStored('a', LARGE)
          if (acknowledged === true) expect(isWhole, 'an acknowledged blob was lost').toBe(true)
          if (!isWhole) expect(await blobs().read('a'), 'half a blob is readable').toBeNull()
          expect(await blobs().write('a', LARGE)).toBe(true)
          expect(await isStored('a', LARGE)).toBe(true)
          expect(await blobs().ids({ limit: 9 })).toEqual(['a'])
        },
      })
      expect(crashes).toBeGreaterThan(3)
    })

    it('survive a crash at every call of a removal', async () => {
      const crashes = await eachCrash(fixture, {
        prepare: async store => {
          await store.blobs.write('a', LARGE)
        },
        act: async store => {
          await store.blobs.remove('a')
          return true
        },
        check: async acknowledged => {
          const found = await blobs().read('a')
          if (acknowledged === true) expect(found).toBeNull()
          if (found !== null) expect(Buffer.compare(found, LARGE), 'half a blob is readable').toBe(0)
          // What a crash left is found and removed.
          for (const id of await blobs().ids({ limit: 9 })) await blobs().remove(id)
          expect([await blobs().ids({ limit: 9 }), await blobs().read('a')]).toEqual([[], null])
        },
      })
      expect(crashes).toBeGreaterThan(1)
    })
  })
}

import { describe, expect, it } from 'vitest'
import { aThing, type Bench, next } from './bench.ts'

export function documentCases(bench: Bench): void {
  describe('documents', () => {
    it('gives back what was put in, whatever the text', async () => {
      const thing = aThing('a', { name: 'naïve "quoted" \\ \n \u2028 😀 ; DROP TABLE documents', note: '$a.b' })
      expect(await bench.things().insert(thing)).toEqual({ ok: true })
      expect(await bench.things().get('a')).toEqual(thing)
      expect(await bench.things().get('b')).toBeNull()
    })

    it('takes an id only once', async () => {
      await bench.things().insert(aThing('a'))
      const second = await bench.things().insert(aThing('a', { name: 'other' }))
      expect(second).toEqual({ ok: false, reason: 'taken', field: 'id' })
      expect((await bench.things().get('a'))?.name).toBe('a')
    })

    it('replaces only the version before', async () => {
      const first = aThing('a')
      const things = bench.things()
      await things.insert(first)
      expect(await things.replace(next(first, { name: 'second' }))).toEqual({ ok: true })
      expect(await things.replace(next(first, { name: 'late' }))).toEqual({ ok: false, reason: 'stale' })
      expect(await things.replace(next(aThing('missing')))).toEqual({ ok: false, reason: 'stale' })
      expect((await things.get('a'))?.name).toBe('second')
    })

    it('lets exactly one of many concurrent writers win each version', async () => {
      const things = bench.things()
      await things.insert(aThing('a'))
      const increment = async (): Promise<void> => {
        for (;;) {
          const now = await things.get('a')
          if (now && (await things.replace(next(now, { note: String(Number(now.note ?? 0) + 1) }))).ok) return
        }
      }
      await Promise.all(Array.from({ length: 50 }, increment))
      expect(await things.get('a')).toMatchObject({ version: 51, note: '50' })
    })

    it('removes only the version that was read', async () => {
      const first = aThing('a')
      const second = next(first)
      for (const things of [bench.things(), bench.quiet()]) {
        await things.insert(first)
        await things.replace(second)
        expect(await things.remove(first)).toEqual({ ok: false, reason: 'stale' })
        expect(await things.remove(second)).toEqual({ ok: true })
        expect(await things.remove(second)).toEqual({ ok: false, reason: 'stale' })
        expect(await things.get('a')).toBeNull()
        expect(await things.replace(next(second))).toEqual({ ok: false, reason: 'stale' })
        expect(await things.list({ limit: 9 })).toEqual([])
      }
    })

    it('lets an id of a quiet kind be used again at once', async () => {
      const quiet = bench.quiet()
      await quiet.insert(aThing('a'))
      await quiet.remove(aThing('a'))
      expect(await quiet.insert(aThing('a', { name: 'again' }))).toEqual({ ok: true })
      expect((await quiet.get('a'))?.name).toBe('again')
      await bench.tidyUp()
      expect((await quiet.get('a'))?.name).toBe('again')
    })

    it('keeps kinds apart', async () => {
      await bench.things().insert(aThing('a', { serial: 's1' }))
      expect(await bench.quiet().get('a')).toBeNull()
      expect(await bench.quiet().insert(aThing('a', { serial: 's1' }))).toEqual({ ok: true })
    })

    it('commits each of many writes that come at once by itself', async () => {
      const things = bench.things()
      const given = [
        aThing('a', { serial: 's1' }),
        aThing('a'),
        aThing('b', { serial: 's1' }),
        aThing('c', { serial: 's2' }),
      ]
      const results = await Promise.all(given.map(thing => things.insert(thing)))
      const taken = given.filter((_, index) => results[index]?.ok)
      expect(taken.filter(thing => thing.id === 'a')).toHaveLength(1)
      expect(taken.filter(thing => thing.serial === 's1')).toHaveLength(1)
      expect(taken).toContainEqual(given[3])
      expect(await things.list({ limit: 9 })).toEqual(taken)
    })
  })

  uniqueCases(bench)
  listCases(bench)
}

function uniqueCases(bench: Bench): void {
  describe('unique values', () => {
    it('refuses a value that another document has, and leaves nothing behind', async () => {
      await bench.things().insert(aThing('a', { serial: 's1' }))
      await bench.tidyUp()
      const taken = { ok: false, reason: 'taken', field: 'serial' }
      expect(await bench.things().insert(aThing('b', { serial: 's1' }))).toEqual(taken)
      expect(await bench.things().get('b')).toBeNull()
      expect(await bench.store().announcements.pending(9)).toEqual([])
      await bench.things().insert(aThing('c'))
      expect(await bench.things().replace(next(aThing('c'), { serial: 's1' }))).toEqual(taken)
      expect(await bench.things().get('c')).toEqual(aThing('c'))
    })

    it('lets the value go when its document gives it up or is removed', async () => {
      const a = aThing('a', { serial: 's1' })
      const things = bench.things()
      await things.insert(a)
      await things.replace(next(a, { serial: null }))
      const b = aThing('b', { serial: 's1' })
      expect(await things.insert(b)).toEqual({ ok: true })
      await things.remove(b)
      expect(await things.insert(aThing('c', { serial: 's1' }))).toEqual({ ok: true })
    })

    it('allows any number of documents without the value', async () => {
      expect(await bench.things().insert(aThing('a'))).toEqual({ ok: true })
      expect(await bench.things().insert(aThing('b'))).toEqual({ ok: true })
    })
  })
}

function listCases(bench: Bench): void {
  describe('lists', () => {
    const fill = async () => {
      for (const id of ['c', 'a', 'b']) await bench.things().insert(aThing(id, { name: id === 'b' ? 'Needle' : 'hay' }))
    }
    const ids = async (query: Parameters<ReturnType<Bench['things']>['list']>[0]) =>
      (await bench.things().list(query)).map(thing => thing.id)

    it('come sorted by id, in pages', async () => {
      await fill()
      expect(await ids({ limit: 2 })).toEqual(['a', 'b'])
      expect(await ids({ limit: 2, after: 'b' })).toEqual(['c'])
    })

    it('filter by equality, inequality and part of the text', async () => {
      await fill()
      expect(await ids({ limit: 9, where: { name: 'hay' } })).toEqual(['a', 'c'])
      expect(await ids({ limit: 1, where: { name: 'hay' }, after: 'a' })).toEqual(['c'])
      expect(await ids({ limit: 9, whereNot: { name: 'hay' } })).toEqual(['b'])
      expect(await ids({ limit: 9, contains: { name: 'needle' } })).toEqual(['b'])
      for (const wild of ['%', '.', '*', '_', 'name=', '(', '\\'])
        expect(await ids({ limit: 9, contains: { name: wild } }), wild).toEqual([])
      expect(await ids({ limit: 9, where: { missing: 'x' } })).toEqual([])
      expect(await ids({ limit: 9, whereNot: { missing: 'x' } })).toEqual(['a', 'b', 'c'])
      expect(await ids({ limit: 9, where: { name: 'hay' }, whereNot: { name: 'hay' } })).toEqual([])
    })

    it('follow what the documents say by now', async () => {
      await fill()
      const [a] = await bench.things().list({ limit: 1 })
      if (a) await bench.things().replace(next(a, { name: 'Needle', note: 'n=1' }))
      expect(await ids({ limit: 9, where: { name: 'Needle' } })).toEqual(['a', 'b'])
      expect(await ids({ limit: 9, where: { 'note.$of="it"': 'n=1' } })).toEqual(['a'])
      expect(await ids({ limit: 9, where: { name: 'hay' } })).toEqual(['c'])
    })
  })
}

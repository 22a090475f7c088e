import { describe, expect, it } from 'vitest'
import { aThing, next, type StoreFixture } from './store-fixture.ts'

export function documentCases(fixture: StoreFixture): void {
  describe('documents', () => {
    it('returns exactly what was inserted, whatever the text', async () => {
      const thing = aThing('a', { name: 'naïve "quoted" \\ \n \u2028 😀 ; DROP TABLE documents', note: '$a.b' })
      expect(await fixture.things().insert(thing)).toEqual({ ok: true })
      expect(await fixture.things().get('a')).toEqual(thing)
      expect(await fixture.things().get('b')).toBeNull()
    })

    it('refuses a second document with the same id', async () => {
      await fixture.things().insert(aThing('a'))
      const second = await fixture.things().insert(aThing('a', { name: 'other' }))
      expect(second).toEqual({ ok: false, reason: 'taken', field: 'id' })
      expect((await fixture.things().get('a'))?.name).toBe('a')
    })

    it('replaces only the version before', async () => {
      const first = aThing('a')
      const things = fixture.things()
      await things.insert(first)
      expect(await things.replace(next(first, { name: 'second' }))).toEqual({ ok: true })
      expect(await things.replace(next(first, { name: 'late' }))).toEqual({ ok: false, reason: 'stale' })
      expect(await things.replace(next(aThing('missing')))).toEqual({ ok: false, reason: 'stale' })
      expect((await things.get('a'))?.name).toBe('second')
    })

    it('lets exactly one of many concurrent writers win each version', async () => {
      const things = fixture.things()
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
      for (const things of [fixture.things(), fixture.quiet()]) {
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

    it('lets an id of an unpublished kind be reused at once', async () => {
      const quiet = fixture.quiet()
      await quiet.insert(aThing('a'))
      await quiet.remove(aThing('a'))
      expect(await quiet.insert(aThing('a', { name: 'again' }))).toEqual({ ok: true })
      expect((await quiet.get('a'))?.name).toBe('again')
      await fixture.publishAndFlush()
      expect((await quiet.get('a'))?.name).toBe('again')
    })

    it('keeps kinds apart', async () => {
      await fixture.things().insert(aThing('a', { serial: 's1' }))
      expect(await fixture.quiet().get('a')).toBeNull()
      expect(await fixture.quiet().insert(aThing('a', { serial: 's1' }))).toEqual({ ok: true })
    })

    it('commits concurrent writes independently', async () => {
      const things = fixture.things()
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

  uniqueCases(fixture)
  listCases(fixture)
}

function uniqueCases(fixture: StoreFixture): void {
  describe('unique values', () => {
    it('refuses a value that another document has, and leaves no trace', async () => {
      await fixture.things().insert(aThing('a', { serial: 's1' }))
      await fixture.publishAndFlush()
      const taken = { ok: false, reason: 'taken', field: 'serial' }
      expect(await fixture.things().insert(aThing('b', { serial: 's1' }))).toEqual(taken)
      expect(await fixture.things().get('b')).toBeNull()
      expect(await fixture.store().announcements.pending(9)).toEqual([])
      await fixture.things().insert(aThing('c'))
      expect(await fixture.things().replace(next(aThing('c'), { serial: 's1' }))).toEqual(taken)
      expect(await fixture.things().get('c')).toEqual(aThing('c'))
    })

    it('frees the value when its document drops it or is removed', async () => {
      const a = aThing('a', { serial: 's1' })
      const things = fixture.things()
      await things.insert(a)
      await things.replace(next(a, { serial: null }))
      const b = aThing('b', { serial: 's1' })
      expect(await things.insert(b)).toEqual({ ok: true })
      await things.remove(b)
      expect(await things.insert(aThing('c', { serial: 's1' }))).toEqual({ ok: true })
    })

    it('allows any number of documents without the value', async () => {
      expect(await fixture.things().insert(aThing('a'))).toEqual({ ok: true })
      expect(await fixture.things().insert(aThing('b'))).toEqual({ ok: true })
    })
  })
}

function listCases(fixture: StoreFixture): void {
  describe('lists', () => {
    const fill = async () => {
      for (const id of ['c', 'a', 'b'])
        await fixture.things().insert(aThing(id, { name: id === 'b' ? 'Needle' : 'hay' }))
    }
    const ids = async (query: Parameters<ReturnType<StoreFixture['things']>['list']>[0]) =>
      (await fixture.things().list(query)).map(thing => thing.id)

    it('are sorted by id, in pages', async () => {
      await fill()
      expect(await ids({ limit: 2 })).toEqual(['a', 'b'])
      expect(await ids({ limit: 2, after: 'b' })).toEqual(['c'])
    })

    it('filter by equality, inequality and substring', async () => {
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

    it('follow the current version of the documents', async () => {
      await fill()
      const [a] = await fixture.things().list({ limit: 1 })
      if (a) await fixture.things().replace(next(a, { name: 'Needle', note: 'n=1' }))
      expect(await ids({ limit: 9, where: { name: 'Needle' } })).toEqual(['a', 'b'])
      expect(await ids({ limit: 9, where: { 'note.$of="it"': 'n=1' } })).toEqual(['a'])
      expect(await ids({ limit: 9, where: { name: 'hay' } })).toEqual(['c'])
    })
  })
}

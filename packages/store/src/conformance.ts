import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Change, Collection, Kind, Store } from './store.ts'

interface Thing {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly serial: string | null
  readonly note?: string
}

const THINGS: Kind<Thing> = {
  name: 'thing',
  parse: body => body as Thing,
  unique: { serial: thing => thing.serial },
}

const aThing = (id: string, more: Partial<Thing> = {}): Thing => ({ id, version: 1, name: id, serial: null, ...more })
const next = (thing: Thing, more: Partial<Thing> = {}): Thing => ({ ...thing, ...more, version: thing.version + 1 })

/** What every store adapter must do. `reopen` closes and opens the same data again, as a restart would. */
export function storeConformance(
  adapter: string,
  open: () => Promise<{ store: Store; reopen(): Promise<Store> }>,
): void {
  describe(`store conformance: ${adapter}`, () => {
    let store: Store
    let reopen: () => Promise<Store>
    let things: Collection<Thing>

    beforeEach(async () => {
      ;({ store, reopen } = await open())
      things = store.collection(THINGS)
    })
    afterEach(() => store.close())

    const changesSince = async (position: string): Promise<readonly Change[]> => {
      const answer = await store.changes.since(position, 1000)
      expect(answer.known).toBe(true)
      return answer.known ? answer.changes : []
    }

    describe('documents', () => {
      it('gives back what was put in, whatever the text', async () => {
        const thing = aThing('a', { name: 'naïve "quoted" \\ \n \u2028 😀 ; DROP TABLE documents' })
        expect(await things.insert(thing)).toEqual({ ok: true })
        expect(await things.get('a')).toEqual(thing)
        expect(await things.get('b')).toBeNull()
      })

      it('takes an id only once', async () => {
        await things.insert(aThing('a'))
        expect(await things.insert(aThing('a', { name: 'other' }))).toEqual({ ok: false, reason: 'taken', field: 'id' })
        expect((await things.get('a'))?.name).toBe('a')
      })

      it('replaces only the version before', async () => {
        const first = aThing('a')
        await things.insert(first)
        expect(await things.replace(next(first, { name: 'second' }))).toEqual({ ok: true })
        expect(await things.replace(next(first, { name: 'late' }))).toEqual({ ok: false, reason: 'stale' })
        expect(await things.replace(next(aThing('missing')))).toEqual({ ok: false, reason: 'stale' })
        expect((await things.get('a'))?.name).toBe('second')
      })

      it('lets exactly one of many concurrent writers win each version', async () => {
        await things.insert(aThing('a'))
        const increment = async (): Promise<number> => {
          for (let tries = 1; ; tries++) {
            const now = await things.get('a')
            if (now && (await things.replace(next(now, { note: String(Number(now.note ?? 0) + 1) }))).ok) return tries
          }
        }
        await Promise.all(Array.from({ length: 50 }, increment))
        expect(await things.get('a')).toMatchObject({ version: 51, note: '50' })
      })

      it('removes only the version that was read', async () => {
        const first = aThing('a')
        await things.insert(first)
        const second = next(first)
        await things.replace(second)
        expect(await things.remove(first)).toEqual({ ok: false, reason: 'stale' })
        expect(await things.remove(second)).toEqual({ ok: true })
        expect(await things.get('a')).toBeNull()
        expect(await things.insert(aThing('a'))).toEqual({ ok: true })
      })

      it('keeps kinds apart', async () => {
        const others = store.collection({ ...THINGS, name: 'other' })
        await things.insert(aThing('a', { serial: 's1' }))
        expect(await others.get('a')).toBeNull()
        expect(await others.insert(aThing('a', { serial: 's1' }))).toEqual({ ok: true })
      })
    })

    describe('unique values', () => {
      it('refuses a value that another document has, and leaves nothing behind', async () => {
        await things.insert(aThing('a', { serial: 's1' }))
        const before = await store.changes.position()
        expect(await things.insert(aThing('b', { serial: 's1' }))).toEqual({
          ok: false,
          reason: 'taken',
          field: 'serial',
        })
        expect(await things.get('b')).toBeNull()
        expect(await changesSince(before)).toEqual([])
      })

      it('lets the value go when its document gives it up or is removed', async () => {
        const a = aThing('a', { serial: 's1' })
        await things.insert(a)
        await things.replace(next(a, { serial: null }))
        const b = aThing('b', { serial: 's1' })
        expect(await things.insert(b)).toEqual({ ok: true })
        await things.remove(b)
        expect(await things.insert(aThing('c', { serial: 's1' }))).toEqual({ ok: true })
      })

      it('allows any number of documents without the value', async () => {
        expect(await things.insert(aThing('a'))).toEqual({ ok: true })
        expect(await things.insert(aThing('b'))).toEqual({ ok: true })
      })
    })

    describe('lists', () => {
      beforeEach(async () => {
        for (const id of ['c', 'a', 'b']) await things.insert(aThing(id, { name: id === 'b' ? 'Needle' : 'hay' }))
      })
      const ids = async (query: Parameters<typeof things.list>[0]) => (await things.list(query)).map(thing => thing.id)

      it('come sorted by id, in pages', async () => {
        expect(await ids({ limit: 2 })).toEqual(['a', 'b'])
        expect(await ids({ limit: 2, after: 'b' })).toEqual(['c'])
      })

      it('filter by equality, inequality and part of the text', async () => {
        expect(await ids({ limit: 9, where: { name: 'hay' } })).toEqual(['a', 'c'])
        expect(await ids({ limit: 9, whereNot: { name: 'hay' } })).toEqual(['b'])
        expect(await ids({ limit: 9, contains: { name: 'needle' } })).toEqual(['b'])
        expect(await ids({ limit: 9, contains: { name: '%' } })).toEqual([])
        expect(await ids({ limit: 9, where: { missing: 'x' } })).toEqual([])
        expect(await ids({ limit: 9, whereNot: { missing: 'x' } })).toEqual(['a', 'b', 'c'])
      })
    })

    describe('the change feed', () => {
      it('tells every commit once, in order, with where to resume', async () => {
        const start = await store.changes.position()
        const a = aThing('a')
        await things.insert(a)
        await things.insert(aThing('b'))
        await things.replace(next(a))
        const changes = await changesSince(start)
        expect(changes.map(({ id, version, deleted }) => [id, version, deleted])).toEqual([
          ['b', 1, false],
          ['a', 2, false],
        ])
        expect(await changesSince(changes[0]?.position ?? '')).toEqual(changes.slice(1))
        expect(await changesSince(await store.changes.position())).toEqual([])
      })

      it('tells of removals', async () => {
        const a = aThing('a')
        await things.insert(a)
        const start = await store.changes.position()
        await things.remove(a)
        expect(await changesSince(start)).toMatchObject([{ kind: 'thing', id: 'a', deleted: true }])
      })

      it('stays silent about writes that were refused', async () => {
        await things.insert(aThing('a'))
        const start = await store.changes.position()
        await things.insert(aThing('a'))
        await things.replace(next(next(aThing('a'))))
        expect(await changesSince(start)).toEqual([])
      })

      it('knows its own positions only', async () => {
        for (const position of ['', 'x', '-1', '1e3', '999999999', '9'.repeat(40)]) {
          expect(await store.changes.since(position, 10), position).toEqual({ known: false })
        }
      })

      it('reads at most as many as asked', async () => {
        const start = await store.changes.position()
        for (const id of ['a', 'b', 'c']) await things.insert(aThing(id))
        const answer = await store.changes.since(start, 2)
        expect(answer.known && answer.changes.map(change => change.id)).toEqual(['a', 'b'])
      })

      it('wakes its listeners after a commit, with the change already readable', async () => {
        const start = await store.changes.position()
        const seen = new Promise<readonly Change[]>(resolve => {
          const stop = store.changes.onCommit(() => {
            stop()
            resolve(changesSince(start))
          })
        })
        await things.insert(aThing('a'))
        expect(await seen).toMatchObject([{ id: 'a' }])
      })
    })

    it('holds everything over a restart, positions too', async () => {
      const a = aThing('a', { serial: 's1' })
      await things.insert(a)
      const middle = await store.changes.position()
      await things.replace(next(a, { name: 'later' }))
      store = await reopen()
      things = store.collection(THINGS)
      expect((await things.get('a'))?.name).toBe('later')
      expect(await changesSince(middle)).toMatchObject([{ id: 'a', version: 2 }])
      expect(await things.insert(aThing('b', { serial: 's1' }))).toMatchObject({ reason: 'taken' })
    })
  })
}

import { describe, expect, it } from 'vitest'
import { type Kind, type Store, StoreError, type StoreSchema } from '../store.ts'
import { aThing, entry, next, type OpenedStore, type OpenStore, QUIET, THINGS, type Thing } from './store-fixture.ts'

const CALLS_MAX = 100

/** A thing of the second schema: its name is in parts, and its size has a default. */
interface Part extends Omit<Thing, 'name'> {
  readonly names: readonly string[]
  readonly size: number
}

function parse(body: unknown): Part {
  const { id, version, serial, names, size = 1 } = Object(body)
  if (!Array.isArray(names)) throw new Error('it has no names')
  return { id, version, serial, names, size }
}

const PARTS: Kind<Part> = {
  name: 'thing',
  parse,
  unique: { first: ({ names }) => names[0] ?? null },
  facets: ({ names }) => ({ last: names.at(-1) ?? '' }),
  announced: true,
}
const QUIET_PARTS: Kind<Part> = { ...PARTS, name: 'quiet', announced: false }

const named = ({ name, ...body }: Readonly<Record<string, unknown>>) => ({ ...body, names: String(name).split(' ') })
const longer = ({ names, ...body }: Readonly<Record<string, unknown>>) => ({
  ...body,
  names: [...(Array.isArray(names) ? names : []), 'more'],
})
const kinds = [PARTS, QUIET_PARTS]
const FIRST: StoreSchema = { kinds, upgrades: [{ thing: named, quiet: named }] }
const SECOND: StoreSchema = { kinds, upgrades: [...FIRST.upgrades, { thing: longer }] }

const a = aThing('a', { name: 'red box', serial: 's1' })
const b = aThing('b', { name: 'blue box', serial: 's1b' })
const q = aThing('q', { name: 'red box' })

async function write(store: Store): Promise<void> {
  const things = store.collection(THINGS)
  await things.insert(a, [entry('1', 1)])
  await things.insert(b)
  await things.replace(next(b), [entry('2', 2)])
  await things.insert(aThing('gone'))
  await things.remove(aThing('gone'))
  await store.collection(QUIET).insert(q)
}

const upgradedA = { id: 'a', version: 1, serial: 's1', names: ['red', 'box'], size: 1 }
const upgradedB = { ...upgradedA, id: 'b', version: 2, serial: 's1b', names: ['blue', 'box'] }

const refusal = async (opening: Promise<Store>): Promise<StoreError> => {
  const error = await opening.then(
    () => 'it was opened',
    (reason: unknown) => reason,
  )
  if (error instanceof StoreError) return error
  throw new Error(`no refusal: ${error}`)
}

/** Documents of earlier releases are upgraded when the store is opened. */
export function upgradeCases(open: OpenStore): void {
  describe('documents of an earlier schema', () => {
    /** Runs the case on a store with documents of schema 0, and closes what it returns. */
    const withOld = async (work: (opened: OpenedStore) => Promise<Store>): Promise<void> => {
      const opened = await open()
      await write(opened.store)
      await (await work(opened)).close()
    }

    it('are upgraded when the store is opened, with their indexes', () =>
      withOld(async ({ reopen }) => {
        const store = await reopen(FIRST)
        const parts = store.collection(PARTS)
        expect(await parts.list({ limit: 9 })).toEqual([upgradedA, upgradedB])
        expect(await parts.get('b')).toEqual(upgradedB)
        expect(await store.collection(QUIET_PARTS).get('q')).toMatchObject({ names: ['red', 'box'], size: 1 })
        expect(await parts.list({ where: { last: 'box' }, limit: 9 })).toHaveLength(2)
        expect(await parts.list({ where: { name: 'red box' }, limit: 9 })).toEqual([])
        const third = { ...upgradedA, id: 'c' }
        expect(await parts.insert(third)).toEqual({ ok: false, reason: 'taken', field: 'first' })
        expect(await parts.insert({ ...third, names: ['green'] }), 'serials are no longer unique').toEqual({ ok: true })
        expect(await parts.replace({ ...upgradedA, version: 2, size: 5 })).toEqual({ ok: true })
        return store
      }))

    it('keep version, journal and place in the change feed', () =>
      withOld(async ({ reopen }) => {
        const before = await reopen()
        before.collection(THINGS)
        await before.announcements.done(await before.announcements.pending(9))
        const position = (await before.changes?.position()) ?? ''
        const store = await reopen(FIRST)
        store.collection(PARTS)
        expect(await store.announcements.pending(9)).toEqual([])
        if (store.changes !== null) expect(await store.changes.since(position, 9)).toEqual({ known: true, changes: [] })
        const found = await store.journal.query({ streams: ['audit'], limit: 9 })
        expect(found.map(({ id }) => id)).toEqual(['thing:b:2:0', 'thing:a:1:0'])
        return store
      }))

    it('are upgraded once, by the missing steps only', () =>
      withOld(async ({ reopen }) => {
        const from: number[] = []
        const withUpgradeLog = (schema: StoreSchema) => ({
          ...schema,
          onUpgrade: (number: number) => void from.push(number),
        })
        await reopen(withUpgradeLog(FIRST))
        const first = await reopen(withUpgradeLog(FIRST))
        await first.collection(PARTS).insert({ ...upgradedA, id: 'c', names: ['c'] })
        await reopen(withUpgradeLog(SECOND))
        const store = await reopen(withUpgradeLog(SECOND))
        expect(from).toEqual([0, 1])
        const parts = await store.collection(PARTS).list({ limit: 9 })
        expect(parts.map(({ names }) => names.join(' '))).toEqual(['red box more', 'blue box more', 'c more'])
        expect((await store.collection(QUIET_PARTS).get('q'))?.names).toEqual(['red', 'box'])
        return store
      }))

    it('stay as they are when one of them cannot be upgraded', () =>
      withOld(async ({ reopen }) => {
        const { quiet: _, ...incomplete } = FIRST.upgrades[0] ?? {}
        const error = await refusal(reopen({ kinds, upgrades: [incomplete] }))
        expect(error.message).toMatch(
          /^quiet q can't be upgraded, and nothing was changed: it has no names\. Keep using/,
        )
        expect(error.isFinal).toBe(true)
        const store = await reopen()
        expect(await store.collection(THINGS).list({ limit: 9 })).toEqual([a, next(b)])
        expect(await store.collection(THINGS).list({ where: { name: 'red box' }, limit: 9 })).toEqual([a])
        expect((await store.collection(THINGS).insert(aThing('c', { serial: 's1' }))).ok).toBe(false)
        return store
      }))

    it.each(['before', 'after'] as const)('survive a crash %s every call of their upgrade', async when => {
      let crashes = 0
      for (let call = 1; call <= CALLS_MAX; call += 1) {
        const opened = await open()
        await write(opened.store)
        const finished = await opened.crashUpgrade(FIRST, call, when)
        const store = await opened.reopen(FIRST)
        expect(await store.collection(PARTS).list({ limit: 9 }), `call ${call}`).toEqual([upgradedA, upgradedB])
        expect(await store.collection(PARTS).list({ where: { last: 'box' }, limit: 9 })).toHaveLength(2)
        await store.close()
        if (finished) break
        crashes += 1
      }
      expect(crashes).toBeGreaterThan(1)
      expect(crashes, 'the upgrade never ends').toBeLessThan(CALLS_MAX)
    })
  })

  describe('a newer schema', () => {
    it('is refused, and the store is left unchanged', async () => {
      const { store, reopen } = await open()
      await write(store)
      await reopen(SECOND)
      const error = await refusal(reopen(FIRST))
      expect(error.message).toMatch(/newer LCM \(documents of schema 2, this one reads up to 1\)\. Use that version/)
      expect(error.isFinal).toBe(true)
      const again = await reopen(SECOND)
      expect(await again.collection(PARTS).list({ limit: 9 })).toHaveLength(2)
      await again.close()
    })

    it('is refused in an empty store too', async () => {
      const { reopen } = await open()
      const from: number[] = []
      await reopen({ ...SECOND, onUpgrade: number => void from.push(number) })
      expect(from).toEqual([])
      expect((await refusal(reopen(FIRST))).message).toMatch(/newer LCM/)
      await (await reopen(SECOND)).close()
    })
  })
}

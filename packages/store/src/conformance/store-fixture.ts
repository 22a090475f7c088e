import { afterEach, beforeEach } from 'vitest'
import type { Collection, Kind, NewEntry, Store, StoreSchema } from '../store.ts'

export interface Thing {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly serial: string | null
  readonly note?: string
}

export const THINGS: Kind<Thing> = {
  name: 'thing',
  parse: body => body as Thing,
  unique: { serial: thing => thing.serial },
  facets: thing => ({ name: thing.name, ...(thing.note === undefined ? {} : { 'note.$of="it"': thing.note }) }),
  announced: true,
}
/** The same kind with unpublished changes. */
export const QUIET: Kind<Thing> = { ...THINGS, name: 'quiet', announced: false }

export const aThing = (id: string, more: Partial<Thing> = {}): Thing => ({
  id,
  version: 1,
  name: id,
  serial: null,
  ...more,
})
export const next = (thing: Thing, more: Partial<Thing> = {}): Thing => ({
  ...thing,
  ...more,
  version: thing.version + 1,
})
export const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
export const entry = (text: string, second = 0, stream = 'audit'): NewEntry => ({
  stream,
  at: at(second),
  body: { text },
})

/** A store whose driver can crash: the nth call and all later ones fail as they do after kill -9. */
export interface CrashableStore {
  readonly store: Store
  /** `before`: the call is never made. `after`: the call takes effect but its result is lost. */
  arm(call: number, when: 'before' | 'after'): void
  /** Driver calls since `arm`, or since the store was opened. */
  calls(): number
}

export interface OpenedStore {
  readonly store: Store
  /** Opens the same data again, as a restart would. Closes every store opened on it before. */
  reopen(schema?: StoreSchema): Promise<Store>
  /**
   * Upgrades the same data with a driver that crashes at a call. Returns whether the upgrade ended before. Closes every store
   * opened on the data before.
   */
  crashUpgrade(schema: StoreSchema, call: number, when: 'before' | 'after'): Promise<boolean>
  /** The same data through a driver that can crash. */
  crashable(): Promise<CrashableStore>
}

export type OpenStore = () => Promise<OpenedStore>

/** A fresh store for each case. */
export function storeFixture(open: OpenStore) {
  let opened: OpenedStore
  let store: Store
  const fixture = {
    things: (): Collection<Thing> => store.collection(THINGS),
    quiet: (): Collection<Thing> => store.collection(QUIET),
    store: () => store,
    crashable: () => opened.crashable(),
    async reopen() {
      store = await opened.reopen()
      store.collection(THINGS)
      store.collection(QUIET)
    },
    async journal(subject = 'thing:a', streams = ['audit']) {
      const found = await store.journal.query({ streams, subject, limit: 1000 })
      return found.map(each => each.id)
    },
    /** Publishes everything and flushes all outboxes, as the announcer and housekeeping would. */
    async publishAndFlush() {
      while ((await store.flushOutbox(100)) > 0);
      await store.announcements.done(await store.announcements.pending(1000))
      while ((await store.flushOutbox(100)) > 0);
    },
  }
  beforeEach(async () => {
    opened = await open()
    store = opened.store
    store.collection(THINGS)
    store.collection(QUIET)
  })
  afterEach(() => store.close())
  return fixture
}

export type StoreFixture = ReturnType<typeof storeFixture>

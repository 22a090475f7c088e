import { afterEach, beforeEach } from 'vitest'
import type { Collection, Kind, NewEntry, Store } from '../store.ts'

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
/** The same, but nobody is told of its changes. */
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

/** A store whose driver can be made to die: the nth call from now on, and all after it, fail as they do after kill -9. */
export interface DyingStore {
  readonly store: Store
  /** `before`: that call is never made. `after`: it has its effect, but nobody hears of it. */
  arm(call: number, when: 'before' | 'after'): void
  /** Driver calls since it was armed, or opened. */
  calls(): number
}

export interface Opened {
  readonly store: Store
  /** Opens the same data again, as a restart would. Ends all stores that were opened on it before. */
  reopen(): Promise<Store>
  /** The same data through a driver that can die. */
  dying(): Promise<DyingStore>
}

export type Open = () => Promise<Opened>

/** What every case stands on: a fresh store for each. */
export function freshStore(open: Open) {
  let opened: Opened
  let store: Store
  const bench = {
    things: (): Collection<Thing> => store.collection(THINGS),
    quiet: (): Collection<Thing> => store.collection(QUIET),
    store: () => store,
    dying: () => opened.dying(),
    async reopen() {
      store = await opened.reopen()
      store.collection(THINGS)
      store.collection(QUIET)
    },
    async journal(subject = 'thing:a', streams = ['audit']) {
      const found = await store.journal.query({ streams, subject, limit: 1000 })
      return found.map(each => each.id)
    },
    /** Tells and finishes everything, as the announcer and the mover would. */
    async tidyUp() {
      while ((await store.settle(100)) > 0);
      await store.announcements.done(await store.announcements.pending(1000))
      while ((await store.settle(100)) > 0);
    },
  }
  beforeEach(async () => {
    opened = await open()
    store = opened.store
    store.collection(THINGS)
    store.collection(QUIET)
  })
  afterEach(() => store.close())
  return bench
}

export type Bench = ReturnType<typeof freshStore>

import { describe, expect, it } from 'vitest'
import type { Store } from '../store.ts'
import { aThing, entry, next, QUIET, type StoreFixture, THINGS } from './store-fixture.ts'

const CALLS_MAX = 100

interface Step {
  readonly title: string
  /** Versions of the document before and after; null where there is none. */
  readonly before: number | null
  readonly after: number | null
  /** Resolves with whether the write was acknowledged. */
  act(store: Store): Promise<boolean>
}

const a = aThing('a', { serial: 's1' })
const b = next(a, { serial: 's2', name: 'later' })

const stepsOf = (kind: typeof THINGS): readonly Step[] => [
  {
    title: 'an insertion',
    before: null,
    after: 1,
    act: async store => (await store.collection(kind).insert(a, [entry('1', 1), entry('1b', 1)])).ok,
  },
  {
    title: 'a replacement',
    before: 1,
    after: 2,
    act: async store => (await store.collection(kind).replace(b, [entry('2', 2)])).ok,
  },
  {
    title: 'a removal',
    before: 2,
    after: null,
    act: async store => (await store.collection(kind).remove(b, [entry('3', 3)])).ok,
  },
]

/** A crash before or after any driver call loses no acknowledged write and leaves none half done. */
export function crashCases(fixture: StoreFixture): void {
  for (const kind of [THINGS, QUIET]) {
    const steps = stepsOf(kind)
    for (const [index, step] of steps.entries()) {
      it(`survives a crash at every call of ${step.title} of a ${kind.name}`, async () => {
        const crashes = await eachCrash(fixture, {
          prepare: async store => {
            for (const earlier of steps.slice(0, index)) await earlier.act(store)
          },
          act: step.act,
          check: acknowledged => checkOutcome(fixture, kind, { index, step, acknowledged }),
        })
        expect(crashes).toBeGreaterThan(1)
      })
    }
  }

  describe('flushing outboxes', () => {
    it('survives a crash at every call and can be repeated', async () => {
      await eachCrash(fixture, {
        prepare: async store => {
          for (const kind of [THINGS, QUIET]) for (const step of stepsOf(kind)) await step.act(store)
          await store.collection(THINGS).insert(aThing('z'), [entry('z')])
        },
        act: async store => {
          await store.flushOutbox(100)
          await store.announcements.done(await store.announcements.pending(100))
          await store.flushOutbox(100)
          return true
        },
        check: async () => {
          await fixture.publishAndFlush()
          for (const kind of ['thing', 'quiet'])
            expect(await fixture.journal(`${kind}:a`)).toEqual([3, 2, 1, 0].map(n => entryIds(kind)[n]))
          expect(await fixture.journal('thing:z')).toEqual(['thing:z:1:0'])
          expect(await fixture.store().announcements.pending(9)).toEqual([])
          expect((await fixture.things().list({ limit: 9 })).map(thing => thing.id)).toEqual(['z'])
        },
      })
    })
  })
}

const entryIds = (kind: string) => [`${kind}:a:1:0`, `${kind}:a:1:1`, `${kind}:a:2:0`, `${kind}:a:3:0`]
/** Number of journal entries after each step. */
const ENTRIES_AFTER = [0, 2, 3, 4]

interface Attempt {
  prepare(store: Store): Promise<void>
  act(store: Store): Promise<boolean>
  /** `acknowledged` is null when the outcome was lost. */
  check(acknowledged: boolean | null): Promise<void>
}

/** Repeats the attempt with a crash before and after each of its driver calls; returns the number of crashes. */
export async function eachCrash(fixture: StoreFixture, { prepare, act, check }: Attempt): Promise<number> {
  let crashes = 0
  for (const when of ['before', 'after'] as const) {
    for (let call = 1; call <= CALLS_MAX; call += 1) {
      await wipe(fixture)
      await prepare(fixture.store())
      const crashable = await fixture.crashable()
      for (const kind of [THINGS, QUIET]) crashable.store.collection(kind)
      await crashable.store.collection(THINGS).get('warm-up')
      await crashable.store.collection(QUIET).get('warm-up')
      crashable.arm(call, when)
      const acknowledged = await act(crashable.store).catch(() => null)
      const finished = crashable.calls() < call
      await fixture.reopen()
      await check(acknowledged)
      if (finished) break
      crashes += 1
      expect(call, 'the attempt never ends').toBeLessThan(CALLS_MAX)
    }
  }
  return crashes
}

/** Empties the store, so that one store serves all crashes. */
async function wipe(fixture: StoreFixture): Promise<void> {
  for (const things of [fixture.things(), fixture.quiet()])
    for (const thing of await things.list({ limit: 100 })) await things.remove(thing)
  for (const id of await fixture.store().blobs.ids({ limit: 100 })) await fixture.store().blobs.remove(id)
  await fixture.publishAndFlush()
  await fixture.store().journal.prune('audit', '~', 1000)
}

async function checkOutcome(
  fixture: StoreFixture,
  kind: typeof THINGS,
  { index, step, acknowledged }: { index: number; step: Step; acknowledged: boolean | null },
): Promise<void> {
  const found = await fixture.store().collection(kind).get('a')
  const version = found?.version ?? null
  const happened = version === step.after
  if (acknowledged === true) expect(happened, 'an acknowledged write was lost').toBe(true)
  else expect([step.before, step.after]).toContain(version)
  const done = happened ? index + 1 : index
  const expected = entryIds(kind.name).slice(0, ENTRIES_AFTER[done]).reverse()
  expect(await fixture.journal(`${kind.name}:a`)).toEqual(expected)
  if (happened && kind.announced) {
    const change = { kind: kind.name, id: 'a', version: step.after ?? 3, deleted: step.after === null }
    expect(await fixture.store().announcements.pending(9)).toEqual([change])
  }
  await fixture.publishAndFlush()
  expect(await fixture.journal(`${kind.name}:a`)).toEqual(expected)
  const free = await fixture
    .store()
    .collection(kind)
    .insert(aThing('other', { serial: found?.serial === 's1' ? 's2' : 's1' }))
  expect(free).toEqual({ ok: true })
}

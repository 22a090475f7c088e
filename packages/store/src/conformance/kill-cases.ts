import { describe, expect, it } from 'vitest'
import type { Store } from '../store.ts'
import { aThing, type Bench, entry, next, QUIET, THINGS } from './bench.ts'

const CALLS_MAX = 100

interface Step {
  readonly title: string
  /** Versions of the thing before and after; null where there is none. */
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

/** A death before or after any call to the driver loses nothing that was acknowledged and leaves nothing half done. */
export function killCases(bench: Bench): void {
  for (const kind of [THINGS, QUIET]) {
    const steps = stepsOf(kind)
    for (const [index, step] of steps.entries()) {
      it(`survives a death at every call of ${step.title} of a ${kind.name}`, async () => {
        const deaths = await eachDeath(bench, {
          prepare: async store => {
            for (const earlier of steps.slice(0, index)) await earlier.act(store)
          },
          act: step.act,
          check: acknowledged => checkOutcome(bench, kind, { index, step, acknowledged }),
        })
        expect(deaths).toBeGreaterThan(1)
      })
    }
  }

  describe('finishing what commits left behind', () => {
    it('survives a death at every call and can be repeated', async () => {
      await eachDeath(bench, {
        prepare: async store => {
          for (const kind of [THINGS, QUIET]) for (const step of stepsOf(kind)) await step.act(store)
          await store.collection(THINGS).insert(aThing('z'), [entry('z')])
        },
        act: async store => {
          await store.settle(100)
          await store.announcements.done(await store.announcements.pending(100))
          await store.settle(100)
          return true
        },
        check: async () => {
          await bench.tidyUp()
          for (const kind of ['thing', 'quiet'])
            expect(await bench.journal(`${kind}:a`)).toEqual([3, 2, 1, 0].map(n => entryIds(kind)[n]))
          expect(await bench.journal('thing:z')).toEqual(['thing:z:1:0'])
          expect(await bench.store().announcements.pending(9)).toEqual([])
          expect((await bench.things().list({ limit: 9 })).map(thing => thing.id)).toEqual(['z'])
        },
      })
    })
  })
}

const entryIds = (kind: string) => [`${kind}:a:1:0`, `${kind}:a:1:1`, `${kind}:a:2:0`, `${kind}:a:3:0`]
/** How many entries there are after so many steps. */
const ENTRIES_AFTER = [0, 2, 3, 4]

interface Attempt {
  prepare(store: Store): Promise<void>
  act(store: Store): Promise<boolean>
  /** Null when nobody heard of the outcome. */
  check(acknowledged: boolean | null): Promise<void>
}

/** Repeats the attempt with a death before and after each of its driver calls; answers how many deaths there were. */
async function eachDeath(bench: Bench, { prepare, act, check }: Attempt): Promise<number> {
  let deaths = 0
  for (const when of ['before', 'after'] as const) {
    for (let call = 1; call <= CALLS_MAX; call += 1) {
      await wipe(bench)
      await prepare(bench.store())
      const dying = await bench.dying()
      for (const kind of [THINGS, QUIET]) dying.store.collection(kind)
      await dying.store.collection(THINGS).get('warm-up')
      await dying.store.collection(QUIET).get('warm-up')
      dying.arm(call, when)
      const acknowledged = await act(dying.store).catch(() => null)
      const finished = dying.calls() < call
      await bench.reopen()
      await check(acknowledged)
      if (finished) break
      deaths += 1
      expect(call, 'an attempt without an end').toBeLessThan(CALLS_MAX)
    }
  }
  return deaths
}

/** Back to nothing, so that one store serves all deaths. */
async function wipe(bench: Bench): Promise<void> {
  for (const things of [bench.things(), bench.quiet()])
    for (const thing of await things.list({ limit: 100 })) await things.remove(thing)
  await bench.tidyUp()
  await bench.store().journal.prune('audit', '~', 1000)
}

async function checkOutcome(
  bench: Bench,
  kind: typeof THINGS,
  { index, step, acknowledged }: { index: number; step: Step; acknowledged: boolean | null },
): Promise<void> {
  const found = await bench.store().collection(kind).get('a')
  const version = found?.version ?? null
  const happened = version === step.after
  if (acknowledged === true) expect(happened, 'an acknowledged write was lost').toBe(true)
  else expect([step.before, step.after]).toContain(version)
  const done = happened ? index + 1 : index
  const expected = entryIds(kind.name).slice(0, ENTRIES_AFTER[done]).reverse()
  expect(await bench.journal(`${kind.name}:a`)).toEqual(expected)
  if (happened && kind.announced) {
    const change = { kind: kind.name, id: 'a', version: step.after ?? 3, deleted: step.after === null }
    expect(await bench.store().announcements.pending(9)).toEqual([change])
  }
  await bench.tidyUp()
  expect(await bench.journal(`${kind.name}:a`)).toEqual(expected)
  const free = await bench
    .store()
    .collection(kind)
    .insert(aThing('other', { serial: found?.serial === 's1' ? 's2' : 's1' }))
  expect(free).toEqual({ ok: true })
}

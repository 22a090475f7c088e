import { manualClock } from '@lcm/testkit/manual-clock'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type WorkItem, workQueue } from './work-queue.ts'

const KEYS = ['a', 'b', 'c', 'd']

type Step =
  | { do: 'add'; key: string; afterMs: number; goesFirst: boolean }
  | { do: 'offer'; key: string }
  | { do: 'forget'; key: string }
  | { do: 'take' }
  | { do: 'done'; pick: number; againMs: number | null }
  | { do: 'advance'; ms: number }

/** The contract as a simple, slow model: one record per key, searched linearly. */
interface Plan {
  rank: number
  at: number
  since: number
}
interface Model {
  now: number
  readonly plans: Map<string, Plan>
  readonly active: Set<string>
  readonly forgotten: Set<string>
}

const isDue = (model: Model, key: string) => {
  const plan = model.plans.get(key)
  return plan !== undefined && plan.at <= model.now && !model.active.has(key)
}

const sinceOf = (model: Model, key: string) => model.plans.get(key)?.since ?? model.now

function setPlan(model: Model, key: string, rank: number, at: number): void {
  model.plans.set(key, { rank, at, since: Math.max(at, model.now) })
}

function modelAdd(model: Model, key: string, afterMs: number, goesFirst: boolean): void {
  const plan = model.plans.get(key)
  const at = model.now + afterMs
  const rank = goesFirst ? 0 : 1
  if (plan && plan.rank <= rank && plan.at <= at) return
  setPlan(model, key, Math.min(rank, plan?.rank ?? rank), plan ? Math.min(plan.at, at) : at)
}

function modelDone(model: Model, key: string, againMs: number | null): void {
  model.active.delete(key)
  const plan = model.plans.get(key)
  const wasForgotten = model.forgotten.delete(key)
  if (againMs !== null && !wasForgotten) {
    const at = model.now + againMs
    if (plan && plan.rank <= 1) setPlan(model, key, plan.rank, Math.min(plan.at, at))
    else setPlan(model, key, 2, at)
  } else if (plan) setPlan(model, key, plan.rank, plan.at)
}

/** Keys that may be handed out next: the most urgent, and of those the ones that have been due longest. */
function candidates(model: Model): string[] {
  const due = [...model.plans].filter(([key]) => isDue(model, key))
  const order = ([, plan]: readonly [string, Plan]) => plan.rank * 1e9 + plan.since
  const first = Math.min(...due.map(order))
  return due.filter(entry => order(entry) === first).map(([key]) => key)
}

const key = fc.constantFrom(...KEYS)
const delay = fc.constantFrom(0, 0, 1, 3, 10)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, afterMs: delay, goesFirst: fc.boolean() }),
  fc.record({ do: fc.constant('offer' as const), key }),
  fc.record({ do: fc.constant('forget' as const), key }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({ do: fc.constant('done' as const), pick: fc.nat(3), againMs: fc.option(delay) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 2, 5, 20) }),
)

async function play(steps: readonly Step[]): Promise<void> {
  const clock = manualClock()
  const queue = workQueue({ clock })
  const held = new Map<string, WorkItem>()
  const model: Model = { now: 0, plans: new Map(), active: new Set(), forgotten: new Set() }

  const doTake = () => {
    const expected = candidates(model)
    const item = queue.take()
    if (item === undefined) return expect(expected).toEqual([])
    expect(expected).toContain(item.key)
    expect(held.has(item.key)).toBe(false)
    held.set(item.key, item)
    model.plans.delete(item.key)
    model.active.add(item.key)
  }
  const doDone = (pick: number, againMs: number | null) => {
    const item = [...held.values()][pick]
    if (item === undefined) return
    held.delete(item.key)
    queue.done(item, againMs === null ? undefined : { afterMs: againMs, cause: 'again' })
    modelDone(model, item.key, againMs)
  }

  for (const next of steps) {
    if (next.do === 'add') {
      queue.add(next.key, next)
      modelAdd(model, next.key, next.afterMs, next.goesFirst)
    } else if (next.do === 'offer') {
      queue.offer(next.key)
      if (!model.plans.has(next.key)) setPlan(model, next.key, 3, model.now)
    } else if (next.do === 'forget') {
      queue.forget(next.key)
      model.plans.delete(next.key)
      if (model.active.has(next.key)) model.forgotten.add(next.key)
    } else if (next.do === 'take') doTake()
    else if (next.do === 'done') doDone(next.pick, next.againMs)
    else {
      await clock.advance(next.ms)
      model.now += next.ms
    }
    expect(queue.depth).toBe(model.plans.size)
    const due = KEYS.filter(candidate => isDue(model, candidate))
    expect(queue.due).toBe(due.length)
    expect(queue.oldestAgeMs()).toBe(Math.max(0, ...due.map(candidate => model.now - sinceOf(model, candidate))))
  }
}

it('behaves like the model in every order of calls', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 80 }), play), { numRuns: 1_000 })
})

import { getEventListeners } from 'node:events'
import { runningLoop } from '@lcm/testkit/reconciliation-fixture'
import { describe, expect, it } from 'vitest'
import { aborted } from '../linked-abort.ts'
import { startupSweep } from '../triggers/poll-trigger.ts'
import type { Trigger } from '../triggers/trigger.ts'
import type { ReconcileContext } from './loop.ts'
import { reconciliation } from './reconciliation-service.ts'
import { requeue, retry, success } from './resource-state.ts'

/** Reconciles that take `ms`; with `heeds` they end when aborted. */
function slow(ms: number, { heeds = true } = {}) {
  const events: string[] = []
  const reconcile = async (key: string, context: ReconcileContext) => {
    const { signal } = context
    signal.addEventListener('abort', () => events.push(`${key} aborted`))
    await world.clock.sleep(ms, heeds ? signal : undefined)
    events.push(`${key} ${signal.aborted && heeds ? 'gave up' : 'finished'}`)
    return success()
  }
  const world = runningLoop({ reconcile, concurrency: 2 })
  return { ...world, trigger: world.trigger, events }
}

/** Records that a promise has settled. */
function settled(promise: Promise<void>) {
  const state = { isOver: false }
  void promise.then(() => {
    state.isOver = true
  })
  return state
}

const listOf = (...keys: string[]) =>
  async function* () {
    yield keys
  }
const sweepOf = (...keys: string[]) => startupSweep({ list: listOf(...keys), keyOf: key => key })

describe('a clean stop', () => {
  it('hands out no new key and lets active work finish', async () => {
    const { clock, trigger, stop, events, starts } = slow(5_000)
    for (const key of ['w-1', 'w-2', 'w-3']) trigger.add(key, 'test')
    await clock.advance(1_000)
    const over = settled(stop())
    trigger.add('w-4', 'test')
    await clock.advance(3_999)
    expect(over.isOver).toBe(false)
    await clock.advance(1)
    expect(over.isOver).toBe(true)
    expect(events).toEqual(['w-1 finished', 'w-2 finished'])
    expect(starts).toHaveLength(2)
  })

  it('aborts work that is still active after 20 seconds, and not before', async () => {
    const { clock, trigger, stop, events } = slow(60_000)
    trigger.add('w-1', 'test')
    await clock.advance(0)
    const over = settled(stop())
    await clock.advance(19_999)
    expect(events).toEqual([])
    await clock.advance(1)
    expect(events).toEqual(['w-1 aborted', 'w-1 gave up'])
    expect(over.isOver).toBe(true)
  })

  it('abandons work with an error log that ignores its signal for 5 more seconds', async () => {
    const { clock, trigger, stop, logger } = slow(3_600_000, { heeds: false })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    const over = settled(stop())
    await clock.advance(24_999)
    expect(over.isOver).toBe(false)
    await clock.advance(1)
    expect(over.isOver).toBe(true)
    expect(logger.messages('error')).toEqual(['work that ignores its signal is left behind'])
  })

  it('is over at once when no work is active, and leaves no timer behind', async () => {
    const { clock, trigger, stop } = runningLoop({ triggers: [sweepOf('w-1')], reconcile: async () => retry('no') })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    const over = settled(stop())
    await clock.advance(0)
    expect([over.isOver, clock.timersLeft()]).toEqual([true, 0])
  })

  it('becomes an abort when leadership is lost in the meantime', async () => {
    const { clock, trigger, stop, lose, events } = slow(60_000)
    trigger.add('w-1', 'test')
    await clock.advance(0)
    void stop()
    await clock.advance(1_000)
    void lose()
    expect(events).toEqual(['w-1 aborted'])
  })

  it('waits for no timer afterwards: plans of the term are dropped', async () => {
    const { clock, trigger, stop, starts } = runningLoop({ reconcile: async () => requeue('later', 1_000) })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    await stop()
    await clock.advance(60_000)
    expect(starts).toHaveLength(1)
  })
})

describe('losing leadership', () => {
  it('aborts active work at once and hands out no more keys', async () => {
    const { clock, trigger, lose, events, starts } = slow(60_000)
    for (const key of ['w-1', 'w-2', 'w-3']) trigger.add(key, 'test')
    await clock.advance(0)
    const over = lose()
    expect(events).toEqual(['w-1 aborted', 'w-2 aborted'])
    await over
    expect(starts).toHaveLength(2)
  })

  it('clears the flag before the work is aborted', async () => {
    let wasHeld: boolean | undefined
    const { clock, trigger, lose } = runningLoop({
      reconcile: async (_, { signal, leadership }) => {
        signal.addEventListener('abort', () => {
          wasHeld = leadership.isHeld()
        })
        await aborted(signal)
        return success()
      },
    })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    await lose()
    expect(wasHeld).toBe(false)
  })

  it('does not count aborted work as a failure', async () => {
    const { clock, trigger, lose, meter, logger } = runningLoop({
      reconcile: async (_, { signal }) => {
        await aborted(signal)
        throw new Error('aborted')
      },
    })
    await clock.advance(500)
    trigger.add('w-1', 'test')
    await clock.advance(40)
    await lose()
    expect(meter.value('reconciliation_reconcile_total', { result: 'error' })).toBe(0)
    expect(logger.lines).toMatchObject([{ level: 'debug', message: 'reconcile aborted', fields: { ms: 40 } }])
  })

  it('drops the state of all keys, and the next term sweeps everything again with its own epoch', async () => {
    const epochs: number[] = []
    const { clock, begin, lose, trigger, starts } = runningLoop({
      triggers: [sweepOf('w-1', 'w-2')],
      reconcile: async (_, { epoch }) => {
        epochs.push(epoch)
        return retry('no')
      },
    })
    await clock.advance(2_500)
    expect(trigger.seen('w-1')?.retry_count).toBe(1)
    await lose()
    await clock.advance(10_000)
    expect(starts).toHaveLength(2)
    begin()
    await clock.advance(2_000)
    expect(epochs).toEqual([1, 1, 2, 2])
    expect(starts.slice(2).map(({ at, key }) => [at, key])).toEqual([
      [14_500, 'w-1'],
      [14_500, 'w-2'],
    ])
  })

  it('releases active keys for the next term once their work has ended', async () => {
    const { clock, trigger, lose, begin, startsOf, loop } = slow(60_000)
    trigger.add('w-1', 'test')
    await clock.advance(0)
    await lose()
    begin()
    loop.wake('w-1', 'news')
    await clock.advance(0)
    expect(startsOf('w-1')).toEqual([0, 0])
  })

  it('keeps a key out of the next term while work of the old term is active', async () => {
    const { clock, trigger, lose, begin, startsOf, ...world } = slow(30_000, { heeds: false })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    void lose()
    await clock.advance(5_000)
    begin()
    world.loop.wake('w-1', 'news')
    await clock.advance(24_999)
    expect(startsOf('w-1')).toEqual([0])
    await clock.advance(1)
    expect(startsOf('w-1')).toEqual([0, 30_000])
  })

  it('ignores the result of a key that outlived its term', async () => {
    const results = [retry('from the old term'), success()]
    const { clock, trigger, lose, begin, loop, starts } = runningLoop({
      reconcile: async () => {
        await clock.sleep(30_000)
        return results.shift() ?? success()
      },
    })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    void lose()
    await clock.advance(5_000)
    begin()
    await clock.advance(120_000)
    expect(starts).toHaveLength(1)
    expect(loop.health()).toMatchObject({ retries: 0, resources_managed: 0 })
  })
})

describe('triggers', () => {
  const broken = (failures: number, events: number[]): Trigger => ({
    name: 'broken',
    async run({ clock, add }) {
      events.push(clock.monotonic())
      if (events.length <= failures) throw new Error('broken')
      add('w-1', 'repaired')
    },
  })

  it('start in the given order', async () => {
    const order: string[] = []
    const named = (name: string): Trigger => ({ name, run: async () => void order.push(name) })
    runningLoop({ triggers: [named('watch'), named('sweep'), named('poll')] })
    expect(order).toEqual(['watch', 'sweep', 'poll'])
  })

  it('that fail neither end the loop nor stay stopped', async () => {
    const runs: number[] = []
    const { clock, trigger, starts, logger } = runningLoop({ triggers: [broken(2, runs)] })
    await clock.advance(0)
    trigger.add('w-2', 'test')
    await clock.advance(3_000)
    expect(runs).toEqual([0, 1_000, 3_000])
    expect(starts.map(start => start.cause)).toEqual(['test', 'repaired'])
    expect(logger.messages('error')).toHaveLength(2)
  })

  it('that fail because the term ends are not reported', async () => {
    const ending: Trigger = {
      name: 'ending',
      async run({ signal }) {
        await aborted(signal)
        throw signal.reason
      },
    }
    const { stop, logger } = runningLoop({ triggers: [ending] })
    await stop()
    expect(logger.lines).toEqual([])
  })

  it('that notice the end of the term late have no effect', async () => {
    const { clock, trigger, stop, begin, starts, loop } = runningLoop()
    await stop()
    trigger.add('w-1', 'too late')
    trigger.openListing('poll').offer('w-2', undefined)
    const stale = trigger
    begin()
    loop.wake('w-3', 'of this term')
    stale.add('w-1', 'much too late')
    stale.openListing('poll').offer('w-2', undefined)
    stale.forget('w-3')
    await clock.advance(60_000)
    expect(starts.map(start => start.cause)).toEqual(['of this term'])
    expect(loop.health().resources_pending).toBe(0)
  })
})

describe('from outside', () => {
  it('adds everything at once when an admin requests it, including keys in backoff, and forgets nothing', async () => {
    const world = runningLoop({ triggers: [sweepOf('w-1')], reconcile: async () => retry('no') })
    await world.clock.advance(2_000)
    expect(world.loop.triggerNow()).toBe(true)
    await world.clock.advance(0)
    expect(world.startsOf('w-1')).toEqual([2_000, 2_000])
    expect(world.trigger.seen('w-1')?.retry_count).toBe(2)
  })

  it('wakes one key', async () => {
    const { clock, loop, starts } = runningLoop()
    expect(loop.wake('w-1', 'discovery')).toBe(true)
    await clock.advance(0)
    expect(starts).toMatchObject([{ key: 'w-1', cause: 'discovery' }])
  })

  it('rejects both while no term runs here', async () => {
    const { clock, loop, stop, starts } = runningLoop({ triggers: [sweepOf('w-1')] })
    await stop()
    expect([loop.triggerNow(), loop.wake('w-1', 'discovery')]).toEqual([false, false])
    await clock.advance(60_000)
    expect(starts).toEqual([])
  })

  it('returns false when no trigger can list', () => {
    expect(runningLoop().loop.triggerNow()).toBe(false)
  })
})

describe('running', () => {
  const bare = () => {
    const { clock } = runningLoop()
    const contexts: ReconcileContext[] = []
    const reconcile = async (_: string, context: ReconcileContext) => {
      contexts.push(context)
      return success()
    }
    const loop = reconciliation({ name: 'bare', clock, triggers: [sweepOf('w-1')], reconcile })
    return { clock, loop, contexts }
  }

  it('needs no election: the epoch is 0 then, and leadership is never lost', async () => {
    const { clock, loop, contexts } = bare()
    const stop = new AbortController()
    const over = loop.run(stop.signal)
    await clock.advance(2_000)
    stop.abort()
    await over
    expect(contexts).toMatchObject([{ epoch: 0 }])
    expect([contexts[0]?.leadership.isHeld(), contexts[0]?.signal.aborted]).toEqual([true, false])
  })

  it('does nothing when it is already stopped', async () => {
    const { clock, loop, contexts } = bare()
    await loop.run(AbortSignal.abort())
    await clock.advance(60_000)
    expect([contexts, loop.health().running]).toEqual([[], false])
  })

  it('leaves no listener on the signal of a leadership that outlives it', async () => {
    const { loop } = bare()
    const [stop, { signal }] = [new AbortController(), new AbortController()]
    const over = loop.run(stop.signal, { epoch: 1, signal, isHeld: () => true })
    stop.abort()
    await over
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('rejects running twice at the same time', async () => {
    const { loop } = bare()
    const stop = new AbortController()
    const over = loop.run(stop.signal)
    await expect(loop.run(stop.signal)).rejects.toThrow('bare already runs')
    stop.abort()
    await over
  })
})

it('logs an error, but does not throw, when a trigger adds more keys than the queue holds', async () => {
  const { trigger, clock, starts, logger } = runningLoop({ keysMax: 3 })
  for (let index = 0; index < 1_500; index += 1) trigger.add(`w-${index}`, 'test')
  await clock.advance(0)
  expect(starts.map(start => start.key)).toEqual(['w-0', 'w-1', 'w-2'])
  const errors = logger.lines.filter(line => line.level === 'error')
  expect(errors.map(line => line.fields.key)).toEqual(['w-3', 'w-1003'])
  expect(String(errors[0]?.fields.err)).toContain("can't queue w-3: 3 distinct keys are queued")
})

it('logs the same error for a listing', async () => {
  const { trigger, logger } = runningLoop({ keysMax: 1 })
  const listing = trigger.openListing('poll')
  for (const key of ['w-1', 'w-2']) listing.offer(key, undefined)
  expect(logger.lines).toMatchObject([{ level: 'error', fields: { key: 'w-2' } }])
})

it('delays a listing while thousands of keys wait, so that copies do not pile up', async () => {
  let pagesRead = 0
  const { clock, loop, starts } = runningLoop<string>({
    reconcile: async () => {
      await clock.sleep(1_000)
      return success()
    },
    concurrency: 1_000,
    triggers: [
      startupSweep({
        keyOf: key => key,
        async *list() {
          for (; pagesRead < 20; pagesRead += 1) {
            yield Array.from({ length: 1_000 }, (_, index) => `w-${pagesRead}-${index}`)
          }
        },
      }),
    ],
  })
  await clock.advance(2_000)
  expect(pagesRead).toBeLessThan(8)
  expect(loop.health().queue_depth).toBeLessThanOrEqual(7_000)
  await clock.advance(60_000)
  expect(starts).toHaveLength(20_000)
})

it('shows a busy loop', async () => {
  const { clock, trigger, loop, meter } = runningLoop({
    concurrency: 1,
    reconcile: async key => {
      if (key === 'slow') await clock.sleep(60_000)
      return key === 'failing' ? retry('no') : success()
    },
  })
  for (const key of ['fine', 'failing', 'slow', 'waiting']) trigger.add(key, 'test')
  await clock.advance(700)
  expect(loop.health()).toEqual({
    name: 'loop',
    status: 'healthy',
    running: true,
    epoch: 1,
    last_reconciliation: new Date(clock.now() - 700).toISOString(),
    last_sweep: null,
    resources_managed: 3,
    resources_pending: 2,
    active_reconciles: 1,
    queue_depth: 1,
    queue_oldest_age_ms: 700,
    retries: 1,
    watches: [],
  })
  const gauge = (name: string) => meter.value(`reconciliation_${name}`)
  expect(
    ['active_reconciles', 'resources_pending', 'queue_depth', 'queue_oldest_age_seconds', 'leader', 'leader_term'].map(
      gauge,
    ),
  ).toEqual([1, 2, 1, 0.7, 1, 1])
})

it('shows an idle loop on standby', async () => {
  const { clock, trigger, loop, stop, meter } = runningLoop()
  trigger.add('w-1', 'test')
  await clock.advance(0)
  await stop()
  expect(loop.health()).toMatchObject({ running: false, epoch: null, resources_managed: 0, resources_pending: 0 })
  expect([meter.value('reconciliation_leader'), meter.value('reconciliation_leader_term')]).toEqual([0, 0])
})

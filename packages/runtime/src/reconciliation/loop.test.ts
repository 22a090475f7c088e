import { manualClock } from '@lcm/testkit/manual-clock'
import { runningLoop } from '@lcm/testkit/reconciliation-fixture'
import { recordingMeter } from '@lcm/testkit/recording-meter'
import { describe, expect, it } from 'vitest'
import { loopMetrics, type ReconcileContext } from './loop.ts'
import { reconciliation } from './reconciliation-service.ts'
import { gone, type ReconciliationResult, requeue, retry, skip, success } from './resource-state.ts'

/** A reconcile that stays active until the test releases it. */
function gated() {
  const gates: ((result: ReconciliationResult) => void)[] = []
  return {
    reconcile: () => new Promise<ReconciliationResult>(resolve => gates.push(resolve)),
    release: (result: ReconciliationResult = success()) => gates.shift()?.(result),
  }
}

/** Returns the results in order, then successes. */
const answering =
  (...results: (ReconciliationResult | Error)[]) =>
  async () => {
    const next = results.shift() ?? success()
    if (next instanceof Error) throw next
    return next
  }

describe('outcomes', () => {
  it('retries after 1, 2, 4, 8, 16, 32 and then every 60 seconds', async () => {
    const { trigger, clock, startsOf } = runningLoop({ reconcile: async () => retry('no capacity') })
    trigger.add('w-1', 'test')
    await clock.advance(183_000)
    expect(startsOf('w-1').map(at => at / 1_000)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
  })

  it('treats a thrown error as a retry', async () => {
    const { trigger, clock, startsOf, logger } = runningLoop({ reconcile: answering(new Error('boom')) })
    trigger.add('w-1', 'test')
    await clock.advance(1_000)
    expect(startsOf('w-1')).toEqual([0, 1_000])
    expect(logger.lines.find(line => line.level === 'warn')?.fields).toMatchObject({ key: 'w-1', message: 'boom' })
  })

  it('treats an error thrown before the first await as a retry too', async () => {
    const { trigger, clock, startsOf } = runningLoop({
      reconcile() {
        throw new Error('boom')
      },
    })
    trigger.add('w-1', 'test')
    await clock.advance(1_000)
    expect(startsOf('w-1')).toEqual([0, 1_000])
  })

  it('reconciles again after the delay of a requeue, without a poll', async () => {
    const { trigger, clock, starts } = runningLoop({ reconcile: answering(requeue('booting', 5_000)) })
    trigger.add('w-1', 'test')
    await clock.advance(60_000)
    expect(starts.map(({ at, cause }) => [at, cause])).toEqual([
      [0, 'test'],
      [5_000, 'requeue'],
    ])
  })

  it('reconciles again at once after a requeue of 0 ms, without the debounce', async () => {
    const { trigger, clock, startsOf } = runningLoop({ reconcile: answering(requeue('announced', 0)) })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    expect(startsOf('w-1')).toEqual([0, 0])
  })

  const rests = [success(), requeue('waiting', 3_600_000), skip('nothing to do')]
  it.each(rests)('resets the retry count after $status', async rest => {
    const { trigger, clock, startsOf } = runningLoop({ reconcile: answering(retry('1'), retry('2'), rest, retry('3')) })
    trigger.add('w-1', 'test')
    await clock.advance(4_000)
    trigger.add('w-1', 'news')
    await clock.advance(60_000)
    expect(startsOf('w-1')).toEqual([0, 1_000, 3_000, 4_000, 5_000])
  })

  it('neither retries nor requeues after a success or a skip', async () => {
    const { trigger, clock, starts } = runningLoop({ reconcile: answering(success(), skip('not ours')) })
    trigger.add('w-1', 'test')
    trigger.add('w-2', 'test')
    await clock.advance(3_600_000)
    expect(starts).toHaveLength(2)
  })

  it('reconciles on a change during a backoff and keeps counting the failures', async () => {
    const { trigger, clock, startsOf } = runningLoop({ reconcile: async () => retry('no') })
    trigger.add('w-1', 'test')
    await clock.advance(3_000)
    trigger.add('w-1', 'news')
    await clock.advance(8_000)
    expect(startsOf('w-1')).toEqual([0, 1_000, 3_000, 3_000, 11_000])
  })
})

describe('hand-outs', () => {
  it('never reconciles one key twice at a time and keeps a change that arrives during work', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, startsOf } = runningLoop({ reconcile })
    trigger.add('w-1', 'test')
    await clock.advance(10)
    trigger.add('w-1', 'news')
    trigger.add('w-1', 'more news')
    await clock.advance(10)
    expect(startsOf('w-1')).toEqual([0])
    release()
    await clock.advance(0)
    expect(startsOf('w-1')).toEqual([0, 20])
    release()
    await clock.advance(60_000)
    expect(startsOf('w-1')).toHaveLength(2)
  })

  it('merges a burst within one tick into one reconcile', async () => {
    const { trigger, clock, starts } = runningLoop()
    for (let count = 0; count < 5; count += 1) trigger.add('w-1', 'test')
    await clock.advance(0)
    expect(starts).toHaveLength(1)
  })

  it('reconciles ten keys at a time by default and no more', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, starts } = runningLoop({ reconcile })
    for (let index = 0; index < 30; index += 1) trigger.add(`w-${index}`, 'test')
    await clock.advance(0)
    expect(starts).toHaveLength(10)
    release()
    await clock.advance(0)
    expect(starts).toHaveLength(11)
  })

  it('serves changes first, then requeues, then routine keys', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, starts } = runningLoop({ reconcile, concurrency: 1 })
    trigger.add('requeued', 'test')
    await clock.advance(0)
    trigger.openListing('poll').offer('routine', undefined)
    release(requeue('waiting', 0))
    trigger.add('news', 'test')
    for (let count = 0; count < 3; count += 1) {
      await clock.advance(0)
      release()
    }
    expect(starts.map(start => start.key)).toEqual(['requeued', 'news', 'requeued', 'routine'])
  })

  /** Reconciles forty keys, each of which blocks the thread for the given time; records when the loop yields. */
  async function busyLoop(busyMsOf: (count: number) => number) {
    const clock = manualClock()
    const restsAfter: number[] = []
    let [busyMs, done] = [0, 0]
    const after = (ms: number, run: () => void) => {
      restsAfter.push(done)
      return clock.after(ms, run)
    }
    const keys = Array.from({ length: 40 }, (_, index) => `w-${index}`)
    const loop = reconciliation({
      name: 'busy',
      clock: { ...clock, after, monotonic: () => clock.monotonic() + busyMs },
      triggers: [{ name: 'all', run: async ({ add }) => keys.forEach(key => void add(key, 'test')) }],
      reconcile: async () => {
        done += 1
        busyMs += busyMsOf(done)
        return success()
      },
    })
    const stop = new AbortController()
    const over = loop.run(stop.signal)
    await clock.advance(0)
    expect(done).toBe(40)
    stop.abort()
    await over
    return restsAfter
  }

  it('yields the thread to timers even if no reconcile ever waits', async () => {
    expect(await busyLoop(() => 5)).toEqual([16, 32])
  })

  it('does not yield when it was not busy, nor again right after it yielded', async () => {
    expect(await busyLoop(() => 0)).toEqual([])
    expect(await busyLoop(count => (count <= 16 ? 5 : 0))).toEqual([16])
  })
})

describe('the context of a reconcile', () => {
  const contextOf = async () => {
    let context: ReconcileContext | undefined
    const running = runningLoop({
      reconcile: async (_, given) => {
        context = given
        given.logger.info({}, 'from inside')
        return success()
      },
    })
    running.trigger.add('w-1', 'test')
    await running.clock.advance(0)
    return { ...running, context }
  }

  it('carries signal, epoch, leadership and cause', async () => {
    const { context } = await contextOf()
    expect(context).toMatchObject({ epoch: 1, cause: 'test', listed: undefined })
    expect(context?.leadership.isHeld()).toBe(true)
    expect(context?.signal.aborted).toBe(false)
  })

  it('logs with service, epoch and key bound', async () => {
    const { logger } = await contextOf()
    const line = logger.lines.find(({ message }) => message === 'from inside')
    expect(line?.fields).toEqual({ service: 'loop', epoch: 1, key: 'w-1' })
  })
})

describe('the log line of an outcome', () => {
  const levelsOf = async (...results: ReconciliationResult[]) => {
    const { trigger, clock, logger } = runningLoop({ reconcile: answering(...results) })
    for (const _ of results) {
      trigger.add('w-1', 'test')
      await clock.advance(0)
    }
    return logger.lines.map(line => line.level)
  }

  it('is at debug for a success without a message', async () => {
    expect(await levelsOf(success())).toEqual(['debug'])
  })

  it('is at info for a new message, and at debug when it repeats', async () => {
    expect(await levelsOf(requeue('booting', 9_000), requeue('booting', 9_000), success('running'))).toEqual([
      'info',
      'debug',
      'info',
    ])
  })

  it('is a warning for a failure, at debug while it repeats, and at info when that is over', async () => {
    const levels = await levelsOf(success('running'), retry('no'), retry('no'), retry('other'), success('running'))
    expect(levels).toEqual(['info', 'warn', 'debug', 'warn', 'info'])
  })

  it('is one warning when many keys fail with the same message, as in an outage', async () => {
    let isOut = true
    const reconcile = async () => (isOut ? retry('EC2 does not answer') : success('running'))
    const { trigger, clock, logger } = runningLoop({ reconcile })
    const keys = Array.from({ length: 100 }, (_, n) => `w-${n}`)
    for (const key of keys) trigger.add(key, 'test')
    await clock.advance(600_000)
    expect(logger.messages('warn')).toEqual(['reconcile failed'])
    isOut = false
    for (const key of keys) trigger.add(key, 'test')
    await clock.advance(0)
    isOut = true
    for (const key of keys) trigger.add(key, 'test')
    await clock.advance(600_000)
    expect(logger.messages('warn'), 'the next outage is logged again').toEqual(['reconcile failed', 'reconcile failed'])
  })

  it('holds key, cause, status, message and time', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, logger } = runningLoop({ reconcile })
    await clock.advance(500)
    trigger.add('w-1', 'test')
    await clock.advance(40)
    release(success('done'))
    await clock.advance(0)
    const fields = { key: 'w-1', cause: 'test', status: 'SUCCESS', message: 'done', ms: 40 }
    expect(logger.lines[0]?.fields).toMatchObject(fields)
  })
})

describe('the state of a key', () => {
  it('follows its outcomes', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock } = runningLoop({ reconcile })
    expect(trigger.seen('w-1')).toBeUndefined()
    trigger.add('w-1', 'test')
    await clock.advance(0)
    expect(trigger.seen('w-1')).toMatchObject({ resource_id: 'w-1', status: 'IN_PROGRESS', retry_count: 0 })
    release(retry('no'))
    await clock.advance(0)
    const nextRetryAt = clock.now() + 1_000
    expect(trigger.seen('w-1')).toMatchObject({ status: 'FAILED', retry_count: 1, next_retry_at: nextRetryAt })
    await clock.advance(1_000)
    release(requeue('soon', 1_000))
    await clock.advance(1_000)
    release(success())
    await clock.advance(0)
    const last = { status: 'SUCCESS', retry_count: 0, next_retry_at: null, last_reconciled_at: clock.now() }
    expect(trigger.seen('w-1')).toMatchObject(last)
  })

  it('is dropped when the reconcile finds the resource deleted, but a change in the meantime is kept', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, loop, starts } = runningLoop({ reconcile })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    trigger.add('w-1', 'created again')
    release(gone('no such worker'))
    await clock.advance(0)
    expect(starts.map(start => start.cause)).toEqual(['test', 'created again'])
    release(gone('no such worker'))
    await clock.advance(0)
    expect(trigger.seen('w-1')).toBeUndefined()
    expect(loop.health().resources_managed).toBe(0)
  })

  it('is dropped with its plans when a trigger forgets the key, even during a reconcile', async () => {
    const { reconcile, release } = gated()
    const { trigger, clock, startsOf, loop } = runningLoop({ reconcile })
    trigger.add('w-1', 'test')
    await clock.advance(0)
    trigger.forget('w-1')
    release(retry('no such worker'))
    await clock.advance(60_000)
    expect(startsOf('w-1')).toEqual([0])
    expect(loop.health()).toMatchObject({ resources_managed: 0, retries: 0, resources_pending: 0 })
  })
})

describe('a slow call outside the slot', () => {
  /** One slot. `slow-*` keys make a slow call of `ms` without it; every other key ends at once. */
  function oneSlot(ms: number) {
    const events: string[] = []
    const running = runningLoop({
      concurrency: 1,
      async reconcile(key, context) {
        events.push(`${key} begins`)
        if (key.startsWith('slow')) await context.withoutSlot(() => running.clock.sleep(ms, context.signal))
        events.push(`${key} ends`)
        return success()
      },
    })
    return { ...running, trigger: running.trigger, events }
  }

  it('leaves the slot to other keys, while its own key stays active', async () => {
    const { trigger, clock, events, loop } = oneSlot(30_000)
    for (const key of ['slow-1', 'slow-2', 'quick']) trigger.add(key, 'test')
    trigger.add('slow-1', 'test')
    await clock.advance(0)
    expect(events).toEqual(['slow-1 begins', 'slow-2 begins', 'quick begins', 'quick ends'])
    trigger.add('slow-1', 'news')
    await clock.advance(29_999)
    expect(events.filter(event => event === 'slow-1 begins')).toHaveLength(1)
    expect(loop.health()).toMatchObject({ active_reconciles: 2 })
    await clock.advance(1)
    expect(events.slice(4).toSorted()).toEqual(['slow-1 begins', 'slow-1 ends', 'slow-2 ends'])
  })

  it('takes a slot again before it continues, ahead of keys that have not started', async () => {
    const { clock, trigger, starts } = runningLoop({
      concurrency: 1,
      async reconcile(key, context) {
        if (key === 'slow') await context.withoutSlot(() => clock.sleep(1_000))
        else await clock.sleep(1_500)
        order.push(key)
        return success()
      },
    })
    const order: string[] = []
    for (const key of ['slow', 'a', 'b']) trigger.add(key, 'test')
    await clock.advance(1_499)
    expect(order).toEqual([])
    await clock.advance(1)
    expect(order).toEqual(['a', 'slow'])
    expect(starts.map(({ key }) => key)).toEqual(['slow', 'a', 'b'])
  })

  it('releases the slot once: after a failed call, a nested call, and a call that outlives its reconcile', async () => {
    const odd = runningLoop({
      concurrency: 1,
      async reconcile(key, context) {
        if (key === 'fails') await context.withoutSlot(() => Promise.reject(new Error('no')))
        if (key === 'nested') await context.withoutSlot(() => context.withoutSlot(() => odd.clock.sleep(5)))
        if (key === 'outlived') void context.withoutSlot(() => odd.clock.sleep(5_000))
        return success()
      },
    })
    for (const key of ['fails', 'nested', 'outlived']) odd.trigger.add(key, 'test')
    await odd.clock.advance(900)
    for (const key of ['fails', 'nested', 'outlived']) expect(odd.startsOf(key)).toEqual([0])
    await odd.clock.advance(10_000)
    for (let n = 0; n < 3; n += 1) odd.trigger.add(`w-${n}`, 'test')
    await odd.clock.advance(0)
    for (let n = 0; n < 3; n += 1) expect(odd.startsOf(`w-${n}`)).toHaveLength(1)
  })

  it('releases the slot that it gets after its reconcile has ended', async () => {
    const { clock, trigger, startsOf } = runningLoop({
      concurrency: 1,
      async reconcile(key, context) {
        if (key === 'outlived') {
          void context.withoutSlot(() => clock.sleep(10))
          await clock.sleep(20)
        }
        if (key === 'slow') await clock.sleep(30)
        return success()
      },
    })
    for (const key of ['outlived', 'slow']) trigger.add(key, 'test')
    await clock.advance(30)
    trigger.add('next', 'test')
    await clock.advance(0)
    expect(startsOf('next')).toEqual([30])
  })

  it('is awaited at a clean stop, like all active work', async () => {
    const { clock, trigger, stop, events } = oneSlot(5_000)
    trigger.add('slow-1', 'test')
    await clock.advance(0)
    const stopped = stop()
    await clock.advance(5_000)
    await stopped
    expect(events).toEqual(['slow-1 begins', 'slow-1 ends'])
  })

  it('is not started for more than a thousand keys', async () => {
    const { clock, trigger, starts } = oneSlot(60_000)
    for (let n = 0; n < 1_200; n += 1) trigger.add(`slow-${n}`, 'test')
    await clock.advance(1_000)
    expect(starts).toHaveLength(1_000)
    await clock.advance(60_000)
    expect(starts).toHaveLength(1_200)
  })
})

it('creates the four results and the one for a deleted resource', () => {
  const error = new Error('no')
  expect([
    success(),
    success('made'),
    requeue('soon', 5),
    retry('no', error),
    skip('not ours'),
    gone('deleted'),
  ]).toEqual([
    { status: 'SUCCESS' },
    { status: 'SUCCESS', message: 'made' },
    { status: 'REQUEUE', message: 'soon', afterMs: 5 },
    { status: 'RETRY', message: 'no', error },
    { status: 'SKIP', message: 'not ours' },
    { status: 'SKIP', message: 'deleted', isGone: true },
  ])
})

it('registers every instrument under its prefix before anything happens, counters at zero', () => {
  const meter = recordingMeter()
  loopMetrics(meter, 'worker_controller')
  expect([...meter.names()].sort()).toEqual(
    [
      'active_reconciles',
      'event_to_reconcile_seconds',
      'leader',
      'leader_term',
      'queue_depth',
      'queue_oldest_age_seconds',
      'reconcile_duration_seconds',
      'reconcile_total',
      'resources_pending',
      'retries_total',
      'watch_age_seconds',
      'watch_degraded',
      'watch_events_total',
    ].map(name => `worker_controller_${name}`),
  )
  expect(meter.value('worker_controller_reconcile_total', { result: 'success' })).toBe(0)
})

it('has every gauge at zero from the start', () => {
  const { meter } = runningLoop()
  const gauges = ['active_reconciles', 'resources_pending', 'queue_depth', 'leader', 'leader_term', 'watch_age_seconds']
  expect(gauges.map(name => meter.value(`reconciliation_${name}`))).toEqual(gauges.map(() => 0))
})

it('counts reconciles by result, and retries', async () => {
  const { clock, trigger, meter } = runningLoop({
    reconcile: async key => {
      if (key === 'error') throw new Error('boom')
      return { success: success(), requeue: requeue('', 9e9), skip: skip('') }[key] ?? retry('no')
    },
  })
  const results = ['success', 'requeue', 'skip', 'retry', 'error']
  for (const key of results) trigger.add(key, 'test')
  await clock.advance(0)
  expect(results.map(result => meter.value('reconciliation_reconcile_total', { result }))).toEqual([1, 1, 1, 1, 1])
  expect(meter.value('reconciliation_retries_total')).toBe(2)
})

it('measures the duration of reconciles and the delay of changes, including the debounce', async () => {
  const { clock, trigger, meter } = runningLoop({
    reconcile: async () => {
      await clock.sleep(250)
      return success()
    },
  })
  trigger.add('w-0', 'test')
  await clock.advance(5_000)
  trigger.add('w-1', 'test', { afterMs: 500 })
  trigger.openListing('poll').offer('w-2', undefined)
  await clock.advance(1_000)
  expect(meter.observations('reconciliation_reconcile_duration_seconds')).toEqual([0.25, 0.25, 0.25])
  expect(meter.observations('reconciliation_event_to_reconcile_seconds')).toEqual([0, 0.5])
})

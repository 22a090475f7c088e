import { runningLoop } from '@lcm/testkit/reconciliation-fixture'
import { describe, expect, it } from 'vitest'
import { requeue, retry, success } from '../reconciliation/resource-state.ts'
import { every, poll, startupSweep } from './poll-trigger.ts'
import type { Trigger } from './trigger.ts'

interface Worker {
  readonly id: string
  readonly status: string
}
const aWorker = (id: string, status = 'RUNNING'): Worker => ({ id, status })
const keyOf = (worker: Worker) => worker.id

/** A list that a test can change, fail and delay. */
function aFleet(...workers: Worker[]) {
  const fleet = {
    workers,
    reads: 0,
    failures: 0,
    beforeLastPage: async () => undefined as unknown,
    async *list() {
      fleet.reads += 1
      const [first, ...rest] = fleet.workers
      if (first) yield [first]
      if (fleet.failures > 0) {
        fleet.failures -= 1
        throw new Error('the API does not answer')
      }
      await fleet.beforeLastPage()
      yield rest
    },
  }
  return fleet
}

describe('poll', () => {
  it('lists after 5 seconds and then every 30', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const { clock, startsOf } = runningLoop({ triggers: [poll({ list: fleet.list, keyOf })] })
    await clock.advance(70_000)
    expect(startsOf('w-1')).toEqual([5_000, 35_000, 65_000])
  })

  it('passes on the listed copies', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2', 'STOPPED'))
    const { clock, starts } = runningLoop<Worker>({ triggers: [poll({ list: fleet.list, keyOf })] })
    await clock.advance(5_000)
    expect(starts.map(start => start.listed)).toEqual(fleet.workers)
    expect(starts.map(start => start.cause)).toEqual(['poll', 'poll'])
  })

  it('offers only keys that need attention, so that an idle fleet costs one listing', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2', 'STARTING'))
    const needsAttention = (worker: Worker) => worker.status === 'STARTING'
    const { clock, starts } = runningLoop<Worker>({ triggers: [poll({ list: fleet.list, keyOf, needsAttention })] })
    await clock.advance(35_000)
    expect(fleet.reads).toBe(2)
    expect(starts.map(start => start.key)).toEqual(['w-2', 'w-2'])
  })

  it('passes the known state of the key and the time to needsAttention', async () => {
    const calls: unknown[] = []
    const needsAttention = (_: Worker, seen: unknown, nowMs: number) => {
      calls.push({ seen, sinceStart: nowMs - startedAt })
      return true
    }
    const { clock } = runningLoop({ triggers: [poll({ list: aFleet(aWorker('w-1')).list, keyOf, needsAttention })] })
    const startedAt = clock.now()
    await clock.advance(35_000)
    expect(calls).toMatchObject([
      { seen: undefined, sinceStart: 5_000 },
      { seen: { status: 'SUCCESS', last_reconciled_at: startedAt + 5_000 }, sinceStart: 35_000 },
    ])
  })

  it('reconciles a resource for which needsAttention throws, and all others', async () => {
    const needsAttention = (worker: Worker) => {
      if (worker.id === 'w-1') throw new Error('unforeseen')
      return true
    }
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, starts, logger } = runningLoop({ triggers: [poll({ list: fleet.list, keyOf, needsAttention })] })
    await clock.advance(5_000)
    expect(starts.map(start => start.key)).toEqual(['w-1', 'w-2'])
    expect(logger.messages('error')).toEqual(['needsAttention threw'])
  })

  it('never cuts a backoff short', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const { clock, startsOf } = runningLoop({
      triggers: [poll({ list: fleet.list, keyOf, intervalMs: 1_000, initialDelayMs: 0 })],
      reconcile: async () => retry('no'),
    })
    await clock.advance(15_500)
    expect(startsOf('w-1')).toEqual([0, 1_000, 3_000, 7_000, 15_000])
  })

  it('never cuts the wait of a requeue short', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const { clock, startsOf } = runningLoop({
      triggers: [poll({ list: fleet.list, keyOf, intervalMs: 1_000, initialDelayMs: 0 })],
      reconcile: async () => requeue('later', 7_500),
    })
    await clock.advance(16_000)
    expect(startsOf('w-1')).toEqual([0, 7_500, 15_000])
  })
})

describe('a copy', () => {
  it('is dropped when a change arrives between the listing and the reconcile', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, trigger, starts } = runningLoop<Worker>({
      concurrency: 1,
      triggers: [poll({ list: fleet.list, keyOf })],
      reconcile: async () => {
        await clock.sleep(1_000)
        return success()
      },
    })
    await clock.advance(5_500)
    trigger.add('w-2', 'news')
    await clock.advance(1_000)
    expect(starts.map(({ key, listed }) => [key, listed?.id])).toEqual([
      ['w-1', 'w-1'],
      ['w-2', undefined],
    ])
  })

  it('is dropped when a change arrived, and was even handled, while the page was being read', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, trigger, starts } = runningLoop<Worker>({ triggers: [poll({ list: fleet.list, keyOf })] })
    fleet.beforeLastPage = () => clock.sleep(100)
    await clock.advance(5_050)
    trigger.add('w-2', 'news')
    await clock.advance(50)
    expect(starts.map(({ key, cause, listed }) => [key, cause, listed?.id])).toEqual([
      ['w-1', 'poll', 'w-1'],
      ['w-2', 'news', undefined],
      ['w-2', 'poll', undefined],
    ])
  })

  it('is dropped when our own reconcile was active while the page was being read', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, trigger, starts } = runningLoop<Worker>({ triggers: [poll({ list: fleet.list, keyOf })] })
    fleet.beforeLastPage = () => clock.sleep(100)
    trigger.add('w-2', 'requeue in the midst', { afterMs: 5_050 })
    await clock.advance(5_100)
    expect(starts.at(-1)).toMatchObject({ key: 'w-2', cause: 'poll', listed: undefined })
  })
})

describe('a failed list', () => {
  it('is logged and read again with backoff', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    fleet.failures = 3
    const { clock, startsOf, logger } = runningLoop({ triggers: [poll({ list: fleet.list, keyOf })] })
    await clock.advance(12_000)
    expect(startsOf('w-2')).toEqual([12_000])
    expect(logger.lines.filter(line => line.message === 'list failed').map(line => line.fields.retryInMs)).toEqual([
      1_000, 2_000, 4_000,
    ])
  })

  it('never counts as an empty or short one: no known key is forgotten', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, loop } = runningLoop({ triggers: [poll({ list: fleet.list, keyOf, listsEverything: true })] })
    await clock.advance(5_000)
    fleet.failures = 1_000
    await clock.advance(600_000)
    expect(loop.health().resources_managed).toBe(2)
  })

  it('does not log the end of the term', async () => {
    const { clock, stop, logger } = runningLoop({
      triggers: [
        startupSweep<Worker>({
          keyOf,
          // biome-ignore lint/correctness/useYield: it is stopped before its first page.
          async *list(signal) {
            await clock.sleep(60_000, signal)
            throw signal.reason
          },
        }),
      ],
    })
    await clock.advance(2_000)
    await stop()
    expect(logger.lines).toEqual([])
  })
})

describe('a listing', () => {
  it('reads no further when the term ends, even if its list ignores the signal', async () => {
    let pages = 0
    async function* list() {
      for (; pages < 100; pages += 1) {
        await clock.sleep(10)
        yield [aWorker(`w-${pages}`)]
      }
    }
    const { clock, stop } = runningLoop({ triggers: [startupSweep({ list, keyOf })] })
    await clock.advance(2_050)
    const over = stop()
    await clock.advance(60_000)
    expect(pages).toBeLessThan(10)
    await over
  })

  it('is closed when it is read, and when it failed', async () => {
    const fleet = aFleet(aWorker('w-1'))
    fleet.failures = 1
    const events: string[] = []
    const sweep = startupSweep({ list: fleet.list, keyOf })
    const watched: Trigger<Worker> = {
      name: 'watched',
      run: context =>
        sweep.run({
          ...context,
          openListing(cause) {
            const listing = context.openListing(cause)
            events.push('open')
            return { ...listing, close: () => void events.push('close') }
          },
        }),
    }
    const { clock } = runningLoop<Worker>({ triggers: [watched] })
    await clock.advance(10_000)
    expect(events).toEqual(['open', 'close', 'open', 'close'])
  })
})

describe('startup sweep', () => {
  it('offers everything with its copy, once per term, after 2 seconds', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2', 'STOPPED'))
    const { clock, starts } = runningLoop<Worker>({ triggers: [startupSweep({ list: fleet.list, keyOf })] })
    await clock.advance(3_600_000)
    expect(starts).toEqual(fleet.workers.map(listed => ({ key: listed.id, at: 2_000, cause: 'sweep', listed })))
  })

  it('retries until the list was read to its end', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    fleet.failures = 2
    const { clock, startsOf, loop } = runningLoop({ triggers: [startupSweep({ list: fleet.list, keyOf })] })
    await clock.advance(4_999)
    expect([startsOf('w-2'), loop.health().last_sweep]).toEqual([[], null])
    await clock.advance(1)
    expect(startsOf('w-2')).toEqual([5_000])
    expect(loop.health().last_sweep).toBe(new Date(clock.now()).toISOString())
  })
})

describe('every', () => {
  it('sweeps everything each interval', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const { clock, startsOf } = runningLoop({ triggers: [every({ list: fleet.list, keyOf, intervalMs: 600_000 })] })
    await clock.advance(1_250_000)
    expect(startsOf('w-1')).toEqual([600_000, 1_200_000])
  })
})

describe('a complete list of everything', () => {
  const sweeping = (...workers: Worker[]) => {
    const fleet = aFleet(...workers)
    return { fleet, ...runningLoop({ triggers: [every({ list: fleet.list, keyOf, intervalMs: 1_000 })] }) }
  }

  it('purges the state of keys that it lacks', async () => {
    const { fleet, clock, loop } = sweeping(aWorker('w-1'), aWorker('w-2'))
    await clock.advance(1_000)
    expect(loop.health().resources_managed).toBe(2)
    fleet.workers.pop()
    await clock.advance(1_000)
    expect(loop.health().resources_managed).toBe(1)
  })

  it('keeps the state of keys that it holds but that need no attention', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const needsAttention = (_: Worker, seen: unknown) => seen === undefined
    const everything = poll({ list: fleet.list, keyOf, needsAttention, listsEverything: true })
    const { clock, loop, starts } = runningLoop<Worker>({ triggers: [everything] })
    await clock.advance(65_000)
    expect([loop.health().resources_managed, starts.length]).toEqual([1, 1])
  })

  it('keeps a key that appeared while the list was being read', async () => {
    const fleet = aFleet(aWorker('w-1'))
    const { clock, trigger, loop } = runningLoop({ triggers: [every({ list: fleet.list, keyOf, intervalMs: 1_000 })] })
    fleet.beforeLastPage = () => clock.sleep(100)
    await clock.advance(1_050)
    trigger.add('w-new', 'news')
    await clock.advance(100)
    expect(loop.health().resources_managed).toBe(2)
  })

  it('purges nothing when the poll lists only a part', async () => {
    const fleet = aFleet(aWorker('w-1'), aWorker('w-2'))
    const { clock, loop } = runningLoop({ triggers: [poll({ list: fleet.list, keyOf })] })
    await clock.advance(5_000)
    fleet.workers.pop()
    await clock.advance(30_000)
    expect(loop.health().resources_managed).toBe(2)
  })
})

import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingMeter } from '@lcm/testkit/recording-meter'
import { scriptedWatchSource } from '@lcm/testkit/scripted-watch-source'
import { describe, expect, it } from 'vitest'
import {
  leaderElectedHostedService,
  reconciliationHostedService,
  type WatchedResource,
  watchTriggeredHostedService,
} from './controller-presets.ts'
import type { Election } from './election.ts'
import { allOf, type HostedService, leaderElected } from './hosted-service.ts'
import { aborted } from './linked-abort.ts'
import { retry, success } from './reconciliation/resource-state.ts'

interface Worker {
  readonly id: string
  readonly status: string
}

/** Workers, a watch on them, and a log of reconciles. */
function aWorld(...workers: Worker[]) {
  const clock = manualClock()
  const source = scriptedWatchSource<Worker>()
  const fleet = new Map(workers.map(worker => [worker.id, worker]))
  const log: string[] = []
  const note = (what: string) => log.push(`${clock.monotonic()} ${what}`)
  const resource: WatchedResource<Worker, Worker> = {
    async *listResources() {
      note('list')
      yield [...fleet.values()]
    },
    keyOf: worker => worker.id,
    fetchResource: async key => {
      note(`fetch ${key}`)
      return fleet.get(key) ?? null
    },
    reconcile: async (worker, { epoch }) => {
      note(`reconcile ${worker.id} ${worker.status} in term ${epoch}`)
      return worker.status === 'BROKEN' ? retry('broken') : success()
    },
    watchSource: () => source,
    parseWatchKey: changeKey => changeKey.split('/').at(-1) ?? null,
    isUrgent: worker => worker.status === 'STARTING',
  }
  return { clock, source, fleet, log, note, resource }
}

/** An election that every candidate wins permanently. */
const alwaysWon: Election = {
  instanceId: 'me',
  campaign: async () => ({ epoch: 3, signal: new AbortController().signal, isHeld: () => true }),
  resign: async () => undefined,
  status: () => ({ state: 'LEADER', leader_id: 'me', term: 3, since: null }),
}

async function running(service: HostedService, clock: { advance(ms: number): Promise<void> }, ms: number) {
  const stop = new AbortController()
  const over = service.run(stop.signal)
  await clock.advance(ms)
  stop.abort()
  await Promise.all([over, clock.advance(20_000)])
}

const aRunningWorker = { id: 'w-1', status: 'RUNNING' }

describe('reconciliationHostedService', () => {
  it('polls and reconciles the listed copies without fetching them', async () => {
    const { clock, log, resource } = aWorld(aRunningWorker)
    await running(reconciliationHostedService(resource, {}, { clock }), clock, 35_000)
    expect(log).toEqual([
      '5000 list',
      '5000 reconcile w-1 RUNNING in term 0',
      '35000 list',
      '35000 reconcile w-1 RUNNING in term 0',
    ])
  })

  it('takes its settings from its configuration', async () => {
    const { clock, log, resource } = aWorld({ id: 'w-1', status: 'BROKEN' })
    const meter = recordingMeter()
    const backoff = { backoffBaseMs: 100, backoffMultiplier: 3, backoffMaxMs: 200 }
    const config = { initialDelayMs: 10, intervalMs: 60_000, metricPrefix: 'p', ...backoff }
    await running(reconciliationHostedService(resource, config, { clock, meter }), clock, 510)
    const reconciledAt = log.filter(line => line.includes('reconcile')).map(line => Number.parseInt(line, 10))
    expect(reconciledAt).toEqual([10, 110, 310, 510])
    expect(meter.value('p_reconcile_total', { result: 'retry' })).toBe(4)
  })

  it('reconciles no more keys at a time than its configuration allows', async () => {
    const { clock, log, resource } = aWorld({ id: 'w-1', status: 'RUNNING' }, { id: 'w-2', status: 'RUNNING' })
    const slow = {
      ...resource,
      reconcile: async (worker: Worker) => {
        log.push(`${clock.monotonic()} ${worker.id}`)
        await clock.sleep(1_000)
        return success()
      },
    }
    await running(reconciliationHostedService(slow, { maxConcurrent: 1 }, { clock }), clock, 6_000)
    expect(log).toEqual(['5000 list', '5000 w-1', '6000 w-2'])
  })

  it('fetches the resource for a retry, and forgets a deleted one', async () => {
    const { clock, log, resource, fleet } = aWorld({ id: 'w-1', status: 'BROKEN' })
    const service = reconciliationHostedService(resource, { initialDelayMs: 0, intervalMs: 3_600_000 }, { clock })
    const stop = new AbortController()
    const over = service.run(stop.signal)
    await clock.advance(1_000)
    expect(log.slice(2)).toEqual(['1000 fetch w-1', '1000 reconcile w-1 BROKEN in term 0'])
    fleet.clear()
    await clock.advance(60_000)
    expect(log.slice(4)).toEqual(['3000 fetch w-1'])
    expect(service.health().resources_managed).toBe(0)
    stop.abort()
    await over
  })

  it('purges with its poll when that lists everything', async () => {
    const { clock, resource, fleet } = aWorld(aRunningWorker)
    const service = reconciliationHostedService(resource, {}, { clock })
    const stop = new AbortController()
    const over = service.run(stop.signal)
    await clock.advance(5_000)
    fleet.clear()
    await clock.advance(30_000)
    expect(service.health().resources_managed).toBe(0)
    stop.abort()
    await over
  })
})

describe('leaderElectedHostedService', () => {
  it('does the same under an election and still reports its health', async () => {
    const { clock, log, resource } = aWorld(aRunningWorker)
    const service = leaderElectedHostedService(resource, {}, { clock, election: alwaysWon })
    await running(service, clock, 5_000)
    expect(log).toEqual(['5000 list', '5000 reconcile w-1 RUNNING in term 3'])
    expect(service.health().running).toBe(false)
  })
})

describe('watchTriggeredHostedService', () => {
  it('opens the watch, then starts the additional triggers, then sweeps, then polls', async () => {
    const { clock, log, note, source, resource } = aWorld(aRunningWorker, { id: 'w-2', status: 'STARTING' })
    const beside = (name: string, firstMs: number): HostedService => ({
      name,
      async run(signal) {
        note(`${name} started`)
        await clock.sleep(firstMs, signal)
        note(`${name} ran`)
        await aborted(signal)
      },
    })
    source.put('/lcm/workers/w-2', { id: 'w-2', status: 'STARTING' })
    const watched: WatchedResource<Worker, Worker> = {
      ...resource,
      watchSource: () => ({
        ...source,
        list(signal) {
          note('watch opened')
          return source.list(signal)
        },
      }),
    }
    const reconciler = watchTriggeredHostedService(watched, {}, {}, { clock })
    const group = allOf('worker-controller', [reconciler, beside('metrics', 15_000), beside('discovery', 5_000)])
    await running(leaderElected(group, alwaysWon), clock, 5_000)
    expect(log.filter(line => line !== '5000 metrics ran')).toEqual([
      '0 watch opened',
      '0 metrics started',
      '0 discovery started',
      '0 fetch w-2',
      '0 reconcile w-2 STARTING in term 3',
      '2000 list',
      '2000 reconcile w-1 RUNNING in term 3',
      '2000 reconcile w-2 STARTING in term 3',
      '5000 list',
      '5000 reconcile w-1 RUNNING in term 3',
      '5000 reconcile w-2 STARTING in term 3',
      '5000 discovery ran',
    ])
  })

  it('reconciles on every put and for no listed key, unless the resource options differ', async () => {
    const { clock, log, source, resource } = aWorld()
    const { isUrgent, ...plain } = resource
    source.put('/lcm/workers/w-listed', { id: 'w-listed', status: 'STARTING' })
    clock.after(1_000, () => source.put('/lcm/workers/w-put', aRunningWorker))
    const service = watchTriggeredHostedService(plain, { pollingEnabled: false }, {}, { clock })
    await running(service, clock, 1_500)
    expect([isUrgent?.({ id: '', status: 'STARTING' }), log]).toEqual([true, ['1000 fetch w-put']])
  })

  it('works without polling, watch or sweep', async () => {
    const { clock, log, source, resource } = aWorld(aRunningWorker)
    const none = { enabled: false, startupReconcileEnabled: false }
    const service = watchTriggeredHostedService(resource, { pollingEnabled: false }, none, {
      clock,
      election: alwaysWon,
    })
    await running(service, clock, 120_000)
    expect([log, source.calls]).toEqual([[], []])
  })

  it('sweeps a wider list than it polls, and then purges only with the sweep', async () => {
    const { clock, log, note, resource } = aWorld(aRunningWorker)
    const wide: WatchedResource<Worker, Worker> = {
      ...resource,
      async *listAllResources() {
        note('list all')
        yield [aRunningWorker, { id: 'w-2', status: 'STOPPED' }]
      },
    }
    const service = watchTriggeredHostedService(wide, {}, {}, { clock, election: alwaysWon })
    const stop = new AbortController()
    const over = service.run(stop.signal)
    await clock.advance(35_000)
    expect(log.filter(line => line.includes('list'))).toEqual(['2000 list all', '5000 list', '35000 list'])
    expect(service.health().resources_managed).toBe(2)
    stop.abort()
    await over
  })
})

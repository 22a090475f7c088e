import { openSimModel } from '@lcm/cloud-sim/sim-model'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { Worker } from '@lcm/domain/worker/worker'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { ownerChanges } from '../../world/owner-changes.ts'
import { requestedState } from '../requested-state-record.ts'
import { trustRecord } from '../secret/trust-record.ts'
import { workerInvariants } from './worker-invariants.ts'

const NEVER = new AbortController().signal
const aRequest = (status: number, verb: string, body: object = {}, method = 'POST') => ({
  dispatch: (async () => ({ status, headers: {}, body: '' })) satisfies Dispatch,
  request: { method, url: `/api/v1/${verb}`, headers: {}, body: JSON.stringify(body), signal: NEVER },
})

async function threeWorkers(min_workers: number) {
  const clock = manualClock()
  const found: string[] = []
  const requested = requestedState(['admin'], () => clock.now())
  const { dispatch, request } = aRequest(200, 'settings', { min_workers }, 'PATCH')
  await requested.record(dispatch)(request)
  const running = (id: string) => aWorker({ id, name: id, status: 'RUNNING', desired_status: 'RUNNING' })
  const workers = new Map(['w-1', 'w-2', 'w-3'].map(id => [id, running(id)]))
  const rules = workerInvariants({
    cloud: openSimModel({ seed: 1, clock }),
    fleet: 'ours',
    workers,
    sessions: new Map(),
    requested: requested,
    trust: trustRecord(),
    ownerChanges: ownerChanges(),
    now: () => clock.now(),
    violated: rule => void found.push(rule),
    usedMs: () => Number.NEGATIVE_INFINITY,
  })
  await clock.advance(86_400_000)
  function stop(id: string, by: string): void {
    const before = workers.get(id) ?? running(id)
    const worker: Worker = { ...before, desired_status: 'STOPPED', desired_by: by }
    rules.worker(worker, before)
    workers.set(id, worker)
  }
  return { found, stop }
}

describe('the minimum number of workers', () => {
  it('is violated by two automatic stops in a row', async () => {
    const { found, stop } = await threeWorkers(2)
    stop('w-1', 'idle')
    expect(found).toEqual([])
    stop('w-2', 'idle')
    expect(found).toEqual(['w-2 is paused while 1 others run; the minimum is 2'])
  })

  it('may be undercut by a user whose stop the policy has not seen yet', async () => {
    const { found, stop } = await threeWorkers(2)
    stop('w-1', 'external stop')
    stop('w-2', 'idle')
    expect(found).toEqual([])
  })
})

describe('a user request', () => {
  const requests = () => requestedState(['admin'], () => 0)
  const stopped = aWorker({ id: 'w-1', desired_status: 'STOPPED' })
  const running = aWorker({ id: 'w-1', desired_status: 'RUNNING' })

  it('that was refused has no effect, even as the first one', async () => {
    const requested = requests()
    const { dispatch, request } = aRequest(409, 'workers/w-1/stop')
    await requested.record(dispatch)(request)
    expect(requested.neverRequested(stopped)).toHaveLength(1)
    expect(requested.lost(running)).toEqual([])
  })

  it('that was accepted must hold when settled, unless a policy changed it', async () => {
    const requested = requests()
    const { dispatch, request } = aRequest(202, 'workers/w-1/stop')
    await requested.record(dispatch)(request)
    expect(requested.lost(stopped)).toEqual([])
    expect(requested.lost(running)).toHaveLength(1)
    expect(requested.lost({ ...running, desired_by: 'idle' })).toEqual([])
  })

  it('with an unknown outcome may hold or not', async () => {
    const requested = requests()
    const { dispatch, request } = aRequest(500, 'workers/w-1/stop')
    await requested.record(dispatch)(request)
    expect([...requested.lost(stopped), ...requested.lost(running)]).toEqual([])
  })

  it('for settings counts only when it was accepted', async () => {
    const requested = requests()
    const { dispatch, request } = aRequest(422, 'settings', { min_workers: 0 }, 'PATCH')
    const first = aRequest(200, 'settings', { min_workers: 3 }, 'PATCH')
    await requested.record(first.dispatch)(first.request)
    await requested.record(dispatch)(request)
    expect(requested.settings.minimumAt('min_workers', 10 * 60_000)).toBe(3)
  })
})

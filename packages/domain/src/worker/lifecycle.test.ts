import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import {
  canMove,
  consequenceOf,
  failuresAfter,
  isTransitional,
  isWishUnserved,
  movesFrom,
  statusOfEc2State,
} from './lifecycle.ts'
import { WORKER_STATUSES, type Worker } from './worker.ts'
import type { Drain } from './worker-field-schemas.ts'

describe('the lifecycle', () => {
  it('ends in TERMINATED and nowhere else', () => {
    expect(WORKER_STATUSES.filter(status => movesFrom(status).length === 0)).toEqual(['TERMINATED'])
  })

  it('can be ended from every status', () => {
    for (const status of WORKER_STATUSES) {
      if (status === 'TERMINATED') continue
      const way = canMove(status, 'TERMINATED') || canMove(status, 'TERMINATING')
      expect(way, status).toBe(true)
    }
  })

  it('enters RUNNING only from STARTING, except for machines found running and canceled drains', () => {
    expect(WORKER_STATUSES.filter(status => canMove(status, 'RUNNING'))).toEqual([
      'STARTING',
      'DRAINING',
      'STOPPED',
      'FAILED',
      'UNKNOWN',
    ])
  })

  it('has no transition from a status to itself', () => {
    for (const status of WORKER_STATUSES) expect(canMove(status, status)).toBe(false)
  })

  it('knows the statuses at rest', () => {
    expect(WORKER_STATUSES.filter(status => !isTransitional(status))).toEqual([
      'RUNNING',
      'STOPPED',
      'TERMINATED',
      'FAILED',
      'UNKNOWN',
    ])
  })
})

it.each([
  ['pending', false, 'PROVISIONING'],
  ['pending', true, 'STARTING'],
  ['running', true, 'RUNNING'],
  ['stopping', true, 'STOPPING'],
  ['stopped', true, 'STOPPED'],
  ['shutting-down', true, 'TERMINATING'],
  ['terminated', true, 'TERMINATED'],
  ['hibernating', true, 'UNKNOWN'],
])('maps EC2 %s (ran before: %s) to %s', (state, ranBefore, status) => {
  expect(statusOfEc2State(state, ranBefore)).toBe(status)
})

describe('a request that no status serves yet', () => {
  const unserved = (desired: string) => WORKER_STATUSES.filter(status => isWishUnserved(status, desired))

  it('is one that the worker has not begun to follow', () => {
    expect(unserved('RUNNING')).toEqual(['STOPPING', 'STOPPED', 'TERMINATING', 'TERMINATED'])
    expect(unserved('STOPPED')).not.toContain('STOPPING')
    expect(unserved('STOPPED')).toContain('RUNNING')
    expect(unserved('TERMINATED')).toEqual(WORKER_STATUSES.filter(status => !status.startsWith('TERMINAT')))
  })

  it('is false for unknown statuses of another version', () => {
    expect(isWishUnserved('RUNNING', 'HIBERNATED')).toBe(false)
    expect(isWishUnserved('', '')).toBe(false)
  })
})

const NOW = toInstant(toMs(aWorker().entered_status_at) + 3_600_000)
const RESTART = { external_stop: 'restart' } as const
const ACCEPT = { external_stop: 'accept' } as const
const SESSION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(NOW) }
const drain = (more: Partial<Drain> = {}): Drain => ({
  requested_at: NOW,
  by: 'ann',
  reason: 'maintenance',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED',
  deadline: toInstant(toMs(NOW) + 1),
  ...more,
})
const report = (
  before: Worker,
  status: Worker['status'],
  settings: { external_stop: 'restart' | 'accept' } = RESTART,
) => consequenceOf(before, { ...before, status }, settings, NOW)

describe('a drain that is over', () => {
  it('sets the requested status, in the name of the requester', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const draining = aWorker({ status: 'DRAINING', drain: drain({ then: 'TERMINATED' }) })
    expect(report(draining, 'TERMINATING')).toMatchObject({
      outcome: 'drained',
      worker: {
        status: 'TERMINATING',
        desired_status: 'TERMINATED',
        desired_by: 'ann',
        desired_reason: 'maintenance',
        drain: null,
        pause: { reason: null },
      },
    })
  })

  it('never terminates a worker that was protected since', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const kept = aWorker({ status: 'DRAINING', protected: true, drain: drain({ then: 'TERMINATED' }) })
    expect(report(kept, 'STOPPING')?.worker).toMatchObject({ desired_status: 'STOPPED', drain: null })
  })

  it('is a pause when the idle policy requested it', () => {
    const idle = aWorker({ status: 'DRAINING', drain: drain({ by: 'idle', policy: 'idle' }) })
    expect(report(idle, 'STOPPING')?.worker.pause).toMatchObject({
      reason: { code: 'worker_idle' },
      by: 'idle',
      last_paused_at: NOW,
      counts: { auto: 1 },
    })
  })

  it('is no pause when a user with the name of that policy requested it: no policy may start the worker again', () => {
    const called = aWorker({ status: 'DRAINING', drain: drain({ by: 'idle' }) })
    expect(report(called, 'STOPPING')?.worker).toMatchObject({ desired_by: 'idle', pause: { reason: null } })
  })

  it('is refused while sessions remain and the deadline has not passed', () => {
    const busy = aWorker({ status: 'DRAINING', drain: drain(), reservations: { s: SESSION } })
    expect(report(busy, 'STOPPING')).toBeNull()
    expect(report({ ...busy, drain: drain({ deadline: NOW }) }, 'STOPPING')?.outcome).toBe('drained')
  })
})

describe('a stop outside LCM', () => {
  it.each(['RUNNING', 'DRAINING', 'STARTING'] as const)(
    'of a %s worker is accepted when the setting is accept',
    status => {
      expect(report(aWorker({ status }), 'STOPPED', ACCEPT)?.worker).toMatchObject({
        desired_status: 'STOPPED',
        desired_by: 'external stop',
        pause: { reason: { code: 'stopped_outside_lcm' }, counts: { auto: 1 } },
      })
      expect(report(aWorker({ status }), 'STOPPED')?.worker.desired_status).toBe('RUNNING')
    },
  )

  it('does not include the end of a requested stop', () => {
    expect(report(aWorker({ status: 'STOPPING' }), 'STOPPED', ACCEPT)?.worker.desired_status).toBe('RUNNING')
  })
})

it('terminates a scale-up that never ran', () => {
  const bought = aWorker({ status: 'FAILED', origin: 'SCALE_UP' })
  expect(report(bought, 'TERMINATING')?.worker).toMatchObject({ desired_status: 'TERMINATED', desired_by: 'clean-up' })
  expect(report({ ...bought, origin: 'USER' }, 'TERMINATING')?.worker.desired_status).toBe('RUNNING')
})

it('counts failures until it runs again', () => {
  const worker = aWorker({ status: 'STARTING', failures: 2 })
  expect([
    failuresAfter(worker, 'FAILED'),
    failuresAfter(worker, 'RUNNING'),
    failuresAfter(worker, 'STOPPING'),
  ]).toEqual([3, 0, 2])
  expect(failuresAfter({ ...worker, status: 'FAILED' }, 'FAILED')).toBe(2)
})

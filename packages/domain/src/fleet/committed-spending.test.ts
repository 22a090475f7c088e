import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import type { Worker } from '../worker/worker.ts'
import { committedSpending, openCommitments } from './committed-spending.ts'

const HOUR = 3_600_000
const NOW = toMs('2026-01-01T10:00:00.000Z')
const at = (hours: number) => toInstant(NOW + hours * HOUR)
const RESERVATION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(at(-1)) }
const ENDS = new Map([
  ['ls-1', NOW + 2 * HOUR],
  ['ls-2', NOW + 3 * HOUR],
])
const promise = (atHours: number, untilHours: number) => ({
  at: at(atHours),
  until: at(untilHours),
  usd_per_hour: 4,
  disk_usd_per_hour: 0.5,
})
const running = (more: Partial<Worker> = {}): Worker =>
  aWorker({ id: 'w-1', status: 'RUNNING', desired_status: 'RUNNING', cost_per_hour_usd: 4, ...more })

/** The hours and the price of each commitment. */
function committed(worker: Worker | null, commitments: Parameters<typeof committedSpending>[0]['commitments'] = {}) {
  const workers = worker === null ? [] : [worker]
  const all = committedSpending({ workers, commitments, endsMs: ENDS, nowMs: NOW, untilMs: NOW + 14 * HOUR })
  return all.map(({ fromMs, untilMs, usdPerHour }) => [(untilMs - fromMs) / HOUR, usdPerHour])
}

it.each<[string, Worker, number[][]]>([
  ['is unused', running(), []],
  [
    'has sessions, until the last one ends',
    running({ reservations: { 'ls-1': RESERVATION, 'ls-2': RESERVATION } }),
    [[3, 4]],
  ],
  ['is awaited by sessions', running({ status: 'STARTING', wanted_by: ['ls-1'] }), [[2, 4]]],
  ['is kept running by a person', running({ desired_until: at(1) }), [[1, 4]]],
  ['has a session that is over', running({ reservations: { 'ls-9': RESERVATION } }), []],
  ['is being stopped', running({ desired_status: 'STOPPED', wanted_by: ['ls-1'] }), []],
  ['has failed', running({ status: 'FAILED', wanted_by: ['ls-1'] }), []],
  ['has no known price', running({ cost_per_hour_usd: null, wanted_by: ['ls-1'] }), []],
  [
    'sleeps, and has a disk',
    running({
      status: 'STOPPED',
      desired_status: 'STOPPED',
      disk: { gb: 200, usd_per_hour: 0.02 },
      billing: { since: at(-1), cause: 'stopped', closed_usd: 0 },
    }),
    [[14, 0.02]],
  ],
])('a worker that %s', (_, worker, expected) => {
  expect(committed(worker)).toEqual(expected)
})

it.each<[string, Worker | null, ReturnType<typeof promise>, number[][]]>([
  [
    'to a worker that is not created yet',
    null,
    promise(-0.1, 2),
    [
      [2, 4],
      [14, 0.5],
    ],
  ],
  ['to a worker that was never created', null, promise(-0.2, 2), []],
  ['to a worker that is about to be woken', running({ desired_status: 'STOPPED' }), promise(-0.1, 2), [[2, 4]]],
  ['to a worker that was stopped again', running({ desired_status: 'STOPPED' }), promise(-0.2, 2), []],
  ['to a worker between two sessions', running(), promise(-1, 2), [[2, 4]]],
  ['to a worker whose session lasts longer', running({ wanted_by: ['ls-2'] }), promise(-1, 2), [[3, 4]]],
  ['whose time is over', running(), promise(-5, -1), []],
])('what was promised %s', (_, worker, commitment, expected) => {
  const commitments = { 'w-1': commitment }
  expect(committed(worker, commitments)).toEqual(expected)
  const open = openCommitments(commitments, worker === null ? [] : [worker], NOW)
  expect(Object.keys(open)).toHaveLength(expected.length > 0 ? 1 : 0)
})

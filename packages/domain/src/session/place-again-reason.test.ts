import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { placeAgainReason } from './place-again-reason.ts'

const NOW = toMs(aSession().created_at)
const at = (minutes: number) => toInstant(NOW + minutes * 60_000)
const drain: Worker['drain'] = {
  requested_at: at(-5),
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'TERMINATED',
  deadline: at(60),
}

const is = (status: string) => reason('worker_status', { worker: 'metal-1', status })
const desired = (desired_status: string) => reason('worker_desired_status', { worker: 'metal-1', desired_status })

it.each<[string, Partial<Worker> | null, Reason | null]>([
  ['serves', {}, null],
  ['has no record', null, reason('worker_deleted')],
  ['is TERMINATED', { status: 'TERMINATED', desired_status: 'TERMINATED' }, is('TERMINATED')],
  ['is TERMINATING', { status: 'TERMINATING', desired_status: 'TERMINATED' }, is('TERMINATING')],
  ['is TERMINATING after a drain', { status: 'TERMINATING', drain }, is('TERMINATING')],
  ['has the desired status TERMINATED', { desired_status: 'TERMINATED' }, desired('TERMINATED')],
  ['is stopped by force', { status: 'STOPPING', desired_status: 'STOPPED' }, desired('STOPPED')],
  ['is stopped outside LCM, and starts again', { status: 'STOPPING' }, null],
  ['drains, and waits for its sessions', { status: 'DRAINING', drain }, null],
  ['drains before a stop', { status: 'DRAINING', desired_status: 'STOPPED', drain }, null],
  ['has just become UNKNOWN', { status: 'UNKNOWN', entered_status_at: at(-9) }, null],
  [
    'was lost',
    { status: 'UNKNOWN', entered_status_at: at(-11) },
    reason('worker_lost', { worker: 'metal-1', status: 'UNKNOWN', seconds: 600 }),
  ],
])('a worker that %s', (_, more, because) => {
  expect(placeAgainReason(more === null ? null : aServingWorker(more), NOW)).toEqual(because)
})

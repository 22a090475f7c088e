import { expect, it } from 'vitest'
import { type Reason, reason, textReason } from './reason.ts'
import { redactPlacement, redactReason, redactWaitingReason } from './redact-reason.ts'
import { unschedulable } from './session/unschedulable-reason.ts'

const NOT_LISTED = reason('ec2_refuses', {
  action: 'stop',
  instance_id: 'i-0a1b2c3d4e5f60718',
  aws_code: 'OperationNotPermitted',
  error: 'arn:aws:iam::123456789012:role/lcm may not stop it',
})

it.each<[Reason, string]>([
  [reason('cml_ready', { version: '2.9.1' }), 'CML 2.9.1 is ready'],
  [reason('requested_by', { by: 'ann', status: 'STOPPED', reason: 'the end' }), 'ann requested STOPPED: the end'],
  [reason('boot_stage_waiting', { stage: 'TcpReachable', detail: '' }), 'waiting for the CML port to open'],
  [
    reason('boot_stage_waiting', { stage: 'TcpReachable', detail: 'connect ECONNREFUSED 10.0.0.7:443' }),
    'waiting for the CML port to open: …',
  ],
  [NOT_LISTED, 'EC2 refuses to stop …: …'],
  [
    reason('retry_scheduled', { retry: 1, retries: 3, cause: NOT_LISTED }),
    'waiting for retry 1 of 3 after: EC2 refuses to stop …: …',
  ],
  [reason('launch_attempt', { attempt: 1, instance_type: 'm5', subnet_id: 'subnet-1' }), 'attempt 1: m5 in …'],
  [
    reason('ec2_no_capacity', {
      action: 'launch',
      instance_types: ['m5'],
      locations: ['subnet-1'],
      aws_code: 'X',
      retry_minutes: 5,
    }),
    'EC2 has no capacity for m5 in … (…); LCM tries again every 5 min',
  ],
  [textReason('i-0a1b2c3d4e5f60718 is gone'), 'only operators can see the reason'],
  [
    { code: 'of_another_release', message: 'i-0a1b2c3d4e5f60718', params: { worker: 'w' } },
    'only operators can see the reason',
  ],
  [{ code: 'insufficient_capacity', message: 'i-0a1b2c3d4e5f60718', params: {} }, 'only operators can see the reason'],
  [{ code: 'cml_ready', message: 'i-0a1b2c3d4e5f60718', params: { version: { a: 'i-1' } } }, 'CML … is ready'],
])('%o reads %s', (given, message) => {
  const redacted = redactReason(given)
  expect(redacted).toMatchObject({ code: given.code, message })
  expect(JSON.stringify(redacted)).not.toMatch(/i-[0-9a-f]|subnet-|10\.0\.0|arn:/)
  expect(redactReason(redacted)).toEqual(redacted)
})

it.each<[Reason, Reason]>([
  [reason('region_worker_limit', { region: 'us-east-1', limit: 10 }), reason('no_machine_free')],
  [reason('waiting_for_placement'), reason('waiting_for_placement')],
  [reason('session_starts_elsewhere'), reason('session_starts_elsewhere')],
  [reason('topology_not_fetched'), reason('topology_not_fetched')],
  [unschedulable(reason('no_workers')), unschedulable(reason('no_machine_fits'))],
  [unschedulable(reason('definition_deleted')), unschedulable(reason('definition_deleted'))],
])('a learner who waits for %o reads %o', (given, shown) => {
  expect(redactWaitingReason(given)).toEqual(shown)
  expect(redactWaitingReason(shown)).toEqual(shown)
})

it.each<[Reason, string]>([
  [reason('placed_on_fullest', { worker: 'metal-1' }), 'placed on metal-1'],
  [reason('placed_on_empty', { worker: 'metal-1' }), 'placed on metal-1'],
  [reason('capacity_already_reserved', { worker: 'metal-1' }), 'placed on metal-1'],
  [reason('booked_by', { by: 'ann' }), 'ann booked the session'],
])('a learner whose session has the history %o reads %s', (given, message) => {
  expect(redactPlacement(given).message).toBe(message)
})

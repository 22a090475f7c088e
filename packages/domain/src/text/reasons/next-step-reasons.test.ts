import { reason } from '../../reason.ts'
import { NEXT_REASONS } from './next-step-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const service = 'worker-controller'
const START = '2026-01-02T04:00:00.000Z'
const DRAIN = { sessions: 1, deadline: START }
const PROGRESS = { step: 'converged', number: 6, count: 7 }

const ROWS: readonly MessageRow[] = [
  [reason('controller_down', { service }), 'no worker-controller is running'],
  [reason('controller_without_leader', { service }), 'no replica of worker-controller is the leader'],
  [reason('controller_silent', { service }), 'the leader of worker-controller does not answer'],
  [reason('not_decided_yet', { service }), 'worker-controller has not made a decision yet'],
  [reason('waiting_for_ec2', { state: 'stopped' }), 'waiting for EC2 to report the instance as stopped'],
  [reason('worker_not_running', { status: 'STOPPED' }), 'the worker is STOPPED'],
  [reason('license_not_confirmed'), 'CML has not confirmed the license change yet'],
  [
    reason('drain_deadline', { ...DRAIN, spared: null }),
    '1 session on the worker; the drain ends at 2026-01-02 04:00 UTC at the latest',
  ],
  [
    reason('drain_deadline', { ...DRAIN, spared: 'TERMINATED' }),
    '1 session on the worker; the drain ends at 2026-01-02 04:00 UTC at the latest; the ' +
      'worker is protected, so it will not be TERMINATED',
  ],
  [reason('timeslot_not_started', { start: START }), 'the timeslot starts at 2026-01-02 04:00 UTC'],
  [reason('session_has_no_worker'), 'the session has no worker'],
  [
    reason('worker_unavailable', { worker: 'metal-1', status: 'STARTING', cause: reason('no_address_yet') }),
    'metal-1 is STARTING: the instance has no address yet',
  ],
  [reason('pipeline_between_steps'), 'the steps of the pipeline are about to start or to end'],
  [
    reason('pipeline_progress', { ...PROGRESS, attempt: 1, booted: null, nodes: null, cause: null }),
    'step 6 of 7, converged',
  ],
  [
    reason('pipeline_progress', {
      ...PROGRESS,
      attempt: 2,
      booted: 1,
      nodes: 3,
      cause: reason('no_address_yet'),
    }),
    'step 6 of 7, converged, attempt 2, 1 of 3 nodes are up: the instance has no address yet',
  ],
  [reason('no_reason_recorded'), 'no reason is recorded'],
]

checkMessages(NEXT_REASONS, ROWS)

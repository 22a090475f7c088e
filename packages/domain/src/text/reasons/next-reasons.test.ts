import { reason } from '../../reason.ts'
import { NEXT_REASONS } from './next-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const service = 'worker-controller'
const DRAIN = { sessions: 1, deadline: '2026-01-02T04:00:00.000Z' }

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
    '1 session on the worker; the drain ends at 2026-01-02T04:00:00.000Z at the latest',
  ],
  [
    reason('drain_deadline', { ...DRAIN, spared: 'TERMINATED' }),
    '1 session on the worker; the drain ends at 2026-01-02T04:00:00.000Z at the latest; the ' +
      'worker is protected, so it will not be TERMINATED',
  ],
  [reason('no_reason_recorded'), 'no reason is recorded'],
]

checkMessages(NEXT_REASONS, ROWS)

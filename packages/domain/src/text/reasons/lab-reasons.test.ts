import { reason } from '../../reason.ts'
import { LAB_REASONS } from './lab-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const ROWS: readonly MessageRow[] = [
  [reason('lab_removed'), 'the lab was removed from CML'],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPING', restarting: true }),
    'the lab is down because nested-1 is restarting (STOPPING)',
  ],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPED', restarting: false }),
    'the lab is down because nested-1 is STOPPED',
  ],
  [
    reason('lab_state_unknown', { worker: 'nested-1', status: 'RUNNING' }),
    'the state of the lab is unknown: CML on nested-1 (RUNNING) does not answer',
  ],
  [
    reason('lab_stopped_by_restart', { worker: 'nested-1', restarted_at: '2026-01-02T03:04:05.678Z' }),
    'nested-1 was restarted at 2026-01-02T03:04:05.678Z; LCM starts the lab again',
  ],
  [
    reason('lab_restart_failed', { step: 'lab_start', error: 'no license' }),
    'the lab could not be started again: step lab_start: no license',
  ],
  [reason('lab_stopped_by_termination', { worker: 'nested-1' }), 'the lab is stopped because nested-1 is TERMINATING'],
  [
    reason('lab_stopped_on_cml', { state: 'STOPPED' }),
    'CML reports the lab as STOPPED: it was stopped on CML while its worker was running',
  ],
  [reason('lab_running', { state: 'STARTED' }), 'CML reports the lab as STARTED'],
]

checkMessages(LAB_REASONS, ROWS)

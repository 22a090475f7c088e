import { reason, textReason } from '../../reason.ts'
import { LAB_REASONS } from './lab-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const cause = textReason('the cause')
const refusal = textReason('the refusal')

const ROWS: readonly MessageRow[] = [
  [reason('lab_removed'), 'the lab was removed from CML'],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPING', restarting: true }),
    'the lab is down because nested-1 is restarting',
  ],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPED', restarting: false }),
    'the lab is down because nested-1 is STOPPED',
  ],
  [
    reason('lab_state_unknown', { worker: 'nested-1', status: 'RUNNING' }),
    'the state of the lab is unknown: CML on nested-1 does not answer',
  ],
  [
    reason('lab_stopped_by_restart', { worker: 'nested-1', restarted_at: '2026-01-02T03:04:05.678Z' }),
    'nested-1 was restarted at 2026-01-02 03:04 UTC; LCM starts the lab again',
  ],
  [
    reason('lab_restart_failed', { step: 'lab_start', error: 'no license' }),
    'the lab could not be started again: step lab_start: no license',
  ],
  [reason('lab_incomplete', { error: null }), 'the lab is being started again'],
  [
    reason('lab_incomplete', { error: 'nodes did not boot: R1 (STARTED)' }),
    'the lab was started again, but is not complete: nodes did not boot: R1 (STARTED)',
  ],
  [reason('lab_restart_retry', { attempt: 3 }), 'attempt 3 to start the lab'],
  [reason('lab_stopped_by_termination', { worker: 'nested-1' }), 'the lab is stopped because nested-1 is TERMINATING'],
  [
    reason('lab_stopped_on_cml', { state: 'STOPPED' }),
    'CML reports the lab as STOPPED: it was stopped on CML while its worker was running',
  ],
  [reason('lab_running', { state: 'STARTED' }), 'CML reports the lab as STARTED'],
  [reason('lab_action_requested_by', { by: 'ada' }), 'requested by ada'],
  [reason('lab_action_started', { action: 'stop' }), 'stop starts'],
  [reason('lab_action_done', { action: 'stop' }), 'stop is complete'],
  [
    reason('lab_action_failed', { action: 'stop', attempt: 1, attempts_max: 3, error: 'no answer' }),
    'attempt 1 of 3 failed: no answer',
  ],
  [reason('lab_starting', { lab: 'BGP' }), 'BGP is starting'],
  [reason('lab_booting', { lab: 'BGP' }), 'BGP is booting'],
  [reason('lab_booted'), 'all nodes have booted'],
  [reason('lab_settling', { lab: 'BGP' }), 'all nodes of BGP have booted; CML does not report the lab as stable yet'],
  [reason('lab_being_stopped', { lab: 'BGP' }), 'BGP is being stopped'],
  [reason('lab_being_wiped', { lab: 'BGP' }), 'BGP is being wiped'],
  [reason('lab_being_deleted', { lab: 'BGP' }), 'BGP is being deleted'],
  [reason('labs_in_teardown', { causes: [cause, refusal] }), 'the cause, the refusal'],
  [reason('lab_ports_differ'), 'the reused lab has tags for other ports; LCM deleted it and imports a new one'],
  [reason('lab_gone_from_cml', { lab_id: 'b3f5' }), 'CML has no lab b3f5 any more'],
  [reason('lab_of_ended_session', { session_id: 'ls-1' }), 'created for session ls-1, which is over'],
  [reason('earlier_lab_pending', { action: 'delete' }), 'an earlier lab of the session has a pending delete'],
  [reason('lab_created_for_session', { session_id: 'ls-1' }), 'created for session ls-1'],
  [reason('lab_discovered'), 'discovered on the worker'],
  [reason('lab_seen'), 'reported by CML'],
  [reason('lab_not_in_scan'), 'a complete scan of the worker did not find the lab'],
  [reason('lab_machine_gone'), 'the machine of the lab is gone'],
]

checkMessages(LAB_REASONS, ROWS)

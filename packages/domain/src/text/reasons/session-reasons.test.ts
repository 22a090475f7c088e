import { reason } from '../../reason.ts'
import { SESSION_REASONS } from './session-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const CAUSE = reason('no_workers')
const BY_ANN = { by: 'ann', worker: 'nested-1', worker_id: 'w-1', unsaved: null }
const FAILURE = { step: 'tags', error: 'no answer' }

const ROWS: readonly MessageRow[] = [
  [reason('waiting_for_placement'), 'waiting for resource-scheduler to place the session'],
  [reason('status_is_final', { status: 'ARCHIVED' }), 'ARCHIVED is final'],
  [reason('session_canceled', { by: 'oidc:jane', reason: 'typo' }), 'oidc:jane canceled the session: typo'],
  [reason('session_canceled', { by: 'oidc:jane', reason: '' }), 'oidc:jane canceled the session'],
  [reason('timeslot_over'), 'the timeslot is over'],
  [reason('timeslot_over_before_lab_start'), 'the timeslot ended before the lab was started'],
  [reason('timeslot_started'), 'the timeslot has started'],
  [reason('waiting_for_timeslot'), 'the lab is ready; waiting for the timeslot to start'],
  [reason('lab_start_scheduled'), 'the lab is started shortly before the timeslot'],
  [reason('starting_lab'), 'starting the lab'],
  [reason('lab_ready'), 'the lab is ready'],
  [reason('session_in_use'), 'the session is in use'],
  [reason('session_placed_again', { cause: CAUSE }), 'there are no workers; the session will be placed again'],
  [
    reason('session_moved', { cause: CAUSE }),
    'there are no workers; the session moves to another worker for the rest of its timeslot',
  ],
  [reason('session_moved_by', { ...BY_ANN, reason: '' }), 'ann moved the session away from nested-1'],
  [
    reason('session_moved_by', { ...BY_ANN, reason: 'its CML is silent' }),
    'ann moved the session away from nested-1: its CML is silent',
  ],
  [
    reason('session_moved_by', { ...BY_ANN, reason: '', unsaved: CAUSE }),
    `ann moved the session away from nested-1; its latest work is not saved: ${CAUSE.message}`,
  ],
  [
    reason('moved_session_waits', { cause: CAUSE }),
    'the session is first in line for another worker: there are no workers',
  ],
  [
    reason('timeslot_over_after_move', { at: '2026-01-02T03:30:00.000Z' }),
    'the session left its worker at 2026-01-02 03:30 UTC, and the timeslot ended before its lab was ready on another worker',
  ],
  [reason('move_in_progress'), 'the session already moves to another worker'],
  [reason('session_works'), 'the session works; only operators can move a session that works'],
  [reason('session_starts_elsewhere'), 'the lab is being started on another worker'],
  [reason('lab_start_late', { step: null, error: null }), 'the timeslot has started and the lab is not ready'],
  [reason('lab_start_late', FAILURE), 'the timeslot has started and the lab is not ready: step tags: no answer'],
  [reason('tearing_down_lab'), 'tearing down the lab'],
  [reason('lab_torn_down'), 'the lab was torn down'],
  [reason('session_completed'), 'the session ended as planned'],
  [reason('session_failed', { error: 'tags: no answer' }), 'tags: no answer'],
  [reason('pipeline_step', { step: 'tags' }), 'step tags'],
  [reason('pipeline_step_retry', { step: 'tags' }), 'step tags failed and is retried after a backoff'],
  [
    reason('lab_start_attempt_failed', { attempt: 1, attempts_max: 3, ...FAILURE }),
    'attempt 1 of 3 to start the lab failed at step tags: no answer',
  ],
  [reason('lab_start_retry', { attempt: 2, cause: CAUSE }), 'attempt 2 to start the lab begins; there are no workers'],
  [
    reason('lab_start_failed', { attempts: 3, ...FAILURE }),
    'the lab could not be started in 3 attempts; the last failed at step tags: no answer',
  ],
  [reason('worker_deleted'), 'the worker no longer exists'],
  [reason('worker_status', { worker: 'nested-1', status: 'TERMINATING' }), 'nested-1 is TERMINATING'],
  [reason('worker_status', { worker: null, status: 'STOPPED' }), 'the worker is STOPPED'],
  [
    reason('worker_desired_status', { worker: 'nested-1', desired_status: 'STOPPED' }),
    'the desired status of nested-1 is STOPPED',
  ],
  [
    reason('worker_lost', { worker: 'nested-1', status: 'RUNNING', seconds: 600 }),
    'nested-1 is RUNNING, but CML has not been ready for at least 10 min',
  ],
  [
    reason('worker_lost', { worker: 'nested-1', status: 'STARTING', seconds: 600 }),
    'EC2 has not been able to start nested-1 for at least 10 min',
  ],
  [
    reason('worker_lost', { worker: 'nested-1', status: 'UNKNOWN', seconds: 600 }),
    'nested-1 has been UNKNOWN for at least 10 min',
  ],
  [
    reason('worker_keeps_failing', { worker: 'nested-1', since: '2026-03-01T10:31:00.000Z' }),
    'nested-1 failed at 2026-03-01 10:31 UTC and has not run since',
  ],
  [reason('worker_not_serving', { worker: 'nested-1' }), 'CML on nested-1 is not available'],
  [reason('worker_not_serving', { worker: null }), 'CML on the worker is not available'],
  [
    reason('session_ending', { status: 'STOPPING' }),
    'the session is STOPPING and its lab is being torn down; book another session',
  ],
  [reason('session_ended', { status: 'ARCHIVED' }), 'the session is ARCHIVED; book another session'],
  [reason('session_was_canceled'), 'the session was canceled; book another session'],
  [
    reason('timeslot_ended', { end: '2026-01-02T04:04:05.678Z' }),
    'the timeslot ended at 2026-01-02 04:04 UTC; book another session',
  ],
  [reason('lab_start_in_progress'), 'the lab is being started and nothing has failed'],
  [
    reason('pipeline_step_blocked', { step: 'tags', error: 'CML is busy' }),
    'step tags is blocked: CML is busy; it continues automatically',
  ],
  [reason('pipeline_step_blocked', { step: 'tags', error: null }), 'step tags is blocked; it continues automatically'],
  [
    reason('nothing_to_retry'),
    'the lab is running, so there is nothing to retry; for a new lab, cancel this session and book another one',
  ],
  [reason('booked_by', { by: 'ada' }), 'ada booked the session'],
  [reason('ended_by_housekeeping'), 'the timeslot is over, and no controller ended the session'],
  [reason('requeued_by', { by: 'ada' }), 'ada requested another placement'],
  [reason('session_left_worker', { worker: 'metal-1' }), 'the session left metal-1'],
  [reason('session_needs_lab'), 'the session needs its lab'],
  [reason('session_over'), 'the session is over'],
  [reason('health_restored', { before: 'DOWN' }), 'it is no longer DOWN'],
  [reason('no_machine_free'), 'no machine is free yet'],
  [reason('no_machine_fits'), 'no machine can run this lab'],
  [reason('step_started', { step: 'bind' }), 'bind starts'],
  [reason('step_ended', { step: 'bind', outcome: 'completed' }), 'bind is completed'],
  [reason('step_failed', { step: 'bind', error: 'no answer' }), 'bind: no answer'],
  [
    reason('teardown_given_up', { step: 'wipe', error: 'no answer' }),
    'wipe: no answer; the capacity stays reserved until a scan finds the lab stopped or gone',
  ],
  [reason('nodes_booting', { booted: 1, nodes: 3 }), '1 of 3 nodes have booted'],
  [reason('nodes_not_booted', { nodes: 'r1 (STARTED)' }), 'nodes have not booted: r1 (STARTED)'],
  [reason('worker_address_changed'), 'the address of the worker changed'],
  [reason('worker_has_no_address'), 'the worker has no address'],
  [reason('worker_gone'), 'the worker is gone'],
]

checkMessages(SESSION_REASONS, ROWS)

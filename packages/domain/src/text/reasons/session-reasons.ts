import { countText, momentText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

const minutesOf = (seconds: number): string => `${seconds / 60} min`
const workerOr = (worker: string | null): string => worker ?? 'the worker'

interface MovedBy {
  readonly by: string
  readonly worker: string
  readonly worker_id: string
  readonly reason: string
  /** Why its latest work is not saved; null if it is, or no save was tried. */
  readonly unsaved: NestedReason | null
}

const LIFECYCLE_REASONS = {
  booked_by: ({ by }: { by: string }) => `${by} booked the session`,
  ended_by_housekeeping: () => 'the timeslot is over, and no controller ended the session',
  requeued_by: ({ by }: { by: string }) => `${by} requested another placement`,
  session_left_worker: ({ worker }: { worker: string }) => `the session left ${worker}`,
  session_needs_lab: () => 'the session needs its lab',
  session_over: () => 'the session is over',
  waiting_for_placement: () => 'waiting for resource-scheduler to place the session',
  health_restored: ({ before }: { before: string }) => `it is no longer ${before}`,
  /** What owners without a view of the fleet read instead of the scheduler's reason. */
  no_machine_free: () => 'no machine is free yet',
  no_machine_fits: () => 'no machine can run this lab',
  status_is_final: ({ status }: { status: string }) => `${status} is final`,
  session_canceled: ({ by, reason }: { by: string; reason: string }) =>
    `${by} canceled the session${reason === '' ? '' : `: ${reason}`}`,
  timeslot_over: () => 'the timeslot is over',
  timeslot_over_before_lab_start: () => 'the timeslot ended before the lab was started',
  timeslot_started: () => 'the timeslot has started',
  waiting_for_timeslot: () => 'the lab is ready; waiting for the timeslot to start',
  lab_start_scheduled: () => 'the lab is started shortly before the timeslot',
  starting_lab: () => 'starting the lab',
  lab_ready: () => 'the lab is ready',
  session_in_use: () => 'the session is in use',
  session_placed_again: ({ cause }: { cause: NestedReason }) => `${cause.message}; the session will be placed again`,
  session_moved: ({ cause }: { cause: NestedReason }) =>
    `${cause.message}; the session moves to another worker for the rest of its timeslot`,
  session_moved_by: ({ by, worker, reason, unsaved }: MovedBy) =>
    `${by} moved the session away from ${worker}${reason === '' ? '' : `: ${reason}`}${
      unsaved === null ? '' : `; its latest work is not saved: ${unsaved.message}`
    }`,
  moved_session_waits: ({ cause }: { cause: NestedReason }) =>
    `the session is first in line for another worker: ${cause.message}`,
  timeslot_over_after_move: ({ at }: { at: string }) =>
    `the session left its worker at ${momentText(at)}, and the timeslot ended before its lab was ready on another worker`,
  session_starts_elsewhere: () => 'the lab is being started on another worker',
  lab_start_late: ({ step, error }: { step: string | null; error: string | null }) =>
    `the timeslot has started and the lab is not ready${step === null ? '' : `: step ${step}`}${error === null ? '' : `: ${error}`}`,
  tearing_down_lab: () => 'tearing down the lab',
  lab_torn_down: () => 'the lab was torn down',
  session_completed: () => 'the session ended as planned',
  session_failed: ({ error }: { error: string }) => error,
}

const PIPELINE_REASONS = {
  step_started: ({ step }: { step: string }) => `${step} starts`,
  step_ended: ({ step, outcome }: { step: string; outcome: string }) => `${step} is ${outcome}`,
  step_failed: ({ step, error }: { step: string; error: string }) => `${step}: ${error}`,
  teardown_given_up: ({ step, error }: { step: string; error: string }) =>
    `${step}: ${error}; the capacity stays reserved until a scan finds the lab stopped or gone`,
  nodes_booting: ({ booted, nodes }: { booted: number; nodes: number }) => `${booted} of ${nodes} nodes have booted`,
  nodes_not_booted: ({ nodes }: { nodes: string }) => `nodes have not booted: ${nodes}`,
  pipeline_step: ({ step }: { step: string }) => `step ${step}`,
  pipeline_step_retry: ({ step }: { step: string }) => `step ${step} failed and is retried after a backoff`,
  lab_start_attempt_failed: ({
    attempt,
    attempts_max,
    step,
    error,
  }: {
    attempt: number
    attempts_max: number
    step: string
    error: string
  }) => `attempt ${attempt} of ${attempts_max} to start the lab failed at step ${step}: ${error}`,
  lab_start_retry: ({ attempt, cause }: { attempt: number; cause: NestedReason }) =>
    `attempt ${attempt} to start the lab begins; ${cause.message}`,
  lab_start_failed: ({ attempts, step, error }: { attempts: number; step: string; error: string }) =>
    `the lab could not be started in ${countText(attempts, 'attempt')}; the last failed at step ${step}: ${error}`,
}

const HOST_REASONS = {
  worker_address_changed: () => 'the address of the worker changed',
  worker_has_no_address: () => 'the worker has no address',
  worker_gone: () => 'the worker is gone',
  worker_deleted: () => 'the worker no longer exists',
  /** `worker` is null where the reader knows which worker is meant. */
  worker_status: ({ worker, status }: { worker: string | null; status: string }) => `${workerOr(worker)} is ${status}`,
  worker_desired_status: ({ worker, desired_status }: { worker: string | null; desired_status: string }) =>
    `the desired status of ${workerOr(worker)} is ${desired_status}`,
  worker_lost: ({ worker, status, seconds }: { worker: string; status: string; seconds: number }) => {
    switch (status) {
      case 'RUNNING':
      case 'DRAINING':
      case 'TERMINATING':
        return `${worker} is ${status}, but CML has not been ready for at least ${minutesOf(seconds)}`
      case 'STARTING':
        return `EC2 has not been able to start ${worker} for at least ${minutesOf(seconds)}`
      default:
        return `${worker} has been ${status} for at least ${minutesOf(seconds)}`
    }
  },
  worker_keeps_failing: ({ worker, since }: { worker: string; since: string }) =>
    `${worker} failed at ${momentText(since)} and has not run since`,
  worker_not_serving: ({ worker }: { worker: string | null }) => `CML on ${workerOr(worker)} is not available`,
}

const RETRY_REASONS = {
  session_ending: ({ status }: { status: string }) =>
    `the session is ${status} and its lab is being torn down; book another session`,
  session_ended: ({ status }: { status: string }) => `the session is ${status}; book another session`,
  session_was_canceled: () => 'the session was canceled; book another session',
  timeslot_ended: ({ end }: { end: string }) => `the timeslot ended at ${momentText(end)}; book another session`,
  lab_start_in_progress: () => 'the lab is being started and nothing has failed',
  pipeline_step_blocked: ({ step, error }: { step: string; error: string | null }) =>
    `step ${step} is blocked${error === null ? '' : `: ${error}`}; it continues automatically`,
  nothing_to_retry: () =>
    'the lab is running, so there is nothing to retry; for a new lab, cancel this session and book another one',
}

const MOVE_REASONS = {
  move_in_progress: () => 'the session already moves to another worker',
  session_works: () => 'the session works; only operators can move a session that works',
}

/** Reasons about sessions: lifecycle, pipelines, hosts, retries, moves. */
export const SESSION_REASONS = {
  ...LIFECYCLE_REASONS,
  ...PIPELINE_REASONS,
  ...HOST_REASONS,
  ...RETRY_REASONS,
  ...MOVE_REASONS,
}

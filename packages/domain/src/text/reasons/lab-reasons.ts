import { momentText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

/** Reasons about labs: their runs, and actions on them. */
export const LAB_REASONS = {
  lab_removed: () => 'the lab was removed from CML',
  /** With `restarting` the worker is about to run again. */
  lab_down: ({ worker, status, restarting }: { worker: string; status: string; restarting: boolean }) =>
    `the lab is down because ${worker} is ${restarting ? 'restarting' : status}`,
  lab_state_unknown: ({ worker }: { worker: string; status: string }) =>
    `the state of the lab is unknown: CML on ${worker} does not answer`,
  lab_stopped_by_restart: ({ worker, restarted_at }: { worker: string; restarted_at: string }) =>
    `${worker} was restarted at ${momentText(restarted_at)}; LCM starts the lab again`,
  lab_incomplete: ({ error }: { error: string | null }) =>
    error === null ? 'the lab is being started again' : `the lab was started again, but is not complete: ${error}`,
  lab_restart_failed: ({ step, error }: { step: string; error: string }) =>
    `the lab could not be started again: step ${step}: ${error}`,
  lab_restart_retry: ({ attempt }: { attempt: number }) => `attempt ${attempt} to start the lab`,
  lab_stopped_by_termination: ({ worker }: { worker: string }) => `the lab is stopped because ${worker} is TERMINATING`,
  lab_stopped_on_cml: ({ state }: { state: string }) =>
    `CML reports the lab as ${state}: it was stopped on CML while its worker was running`,
  lab_running: ({ state }: { state: string }) => `CML reports the lab as ${state}`,
  lab_action_requested_by: ({ by }: { by: string }) => `requested by ${by}`,
  lab_action_started: ({ action }: { action: string }) => `${action} starts`,
  lab_action_done: ({ action }: { action: string }) => `${action} is complete`,
  lab_action_failed: (p: { action: string; attempt: number; attempts_max: number; error: string }) =>
    `attempt ${p.attempt} of ${p.attempts_max} failed: ${p.error}`,
  lab_starting: ({ lab }: { lab: string }) => `${lab} is starting`,
  lab_booting: ({ lab }: { lab: string }) => `${lab} is booting`,
  lab_booted: () => 'all nodes have booted',
  lab_settling: ({ lab }: { lab: string }) =>
    `all nodes of ${lab} have booted; CML does not report the lab as stable yet`,
  lab_being_stopped: ({ lab }: { lab: string }) => `${lab} is being stopped`,
  lab_being_wiped: ({ lab }: { lab: string }) => `${lab} is being wiped`,
  lab_being_deleted: ({ lab }: { lab: string }) => `${lab} is being deleted`,
  labs_in_teardown: ({ causes }: { causes: readonly NestedReason[] }) =>
    causes.map(({ message }) => message).join(', '),
  lab_ports_differ: () => 'the reused lab has tags for other ports; LCM deleted it and imports a new one',
  lab_gone_from_cml: ({ lab_id }: { lab_id: string }) => `CML has no lab ${lab_id} any more`,
  lab_of_ended_session: ({ session_id }: { session_id: string }) => `created for session ${session_id}, which is over`,
  earlier_lab_pending: ({ action }: { action: string }) => `an earlier lab of the session has a pending ${action}`,
  lab_created_for_session: ({ session_id }: { session_id: string }) => `created for session ${session_id}`,
  lab_discovered: () => 'discovered on the worker',
  lab_seen: () => 'reported by CML',
  lab_not_in_scan: () => 'a complete scan of the worker did not find the lab',
  lab_machine_gone: () => 'the machine of the lab is gone',
}

/** Reasons about labs and their runs. */
export const LAB_REASONS = {
  lab_removed: () => 'the lab was removed from CML',
  /** With `restarting` the worker is about to run again. */
  lab_down: ({ worker, status, restarting }: { worker: string; status: string; restarting: boolean }) =>
    `the lab is down because ${worker} is ${restarting ? `restarting (${status})` : status}`,
  lab_state_unknown: ({ worker, status }: { worker: string; status: string }) =>
    `the state of the lab is unknown: CML on ${worker} (${status}) does not answer`,
  lab_stopped_by_restart: ({ worker, restarted_at }: { worker: string; restarted_at: string }) =>
    `${worker} was restarted at ${restarted_at}; LCM starts the lab again`,
  lab_restart_failed: ({ step, error }: { step: string; error: string }) =>
    `the lab could not be started again: step ${step}: ${error}`,
  lab_stopped_by_termination: ({ worker }: { worker: string }) => `the lab is stopped because ${worker} is TERMINATING`,
  lab_stopped_on_cml: ({ state }: { state: string }) =>
    `CML reports the lab as ${state}: it was stopped on CML while its worker was running`,
  lab_running: ({ state }: { state: string }) => `CML reports the lab as ${state}`,
}

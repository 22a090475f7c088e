import { countText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

const spanText = (seconds: number): string => (seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`)

const DISCOVERY_REASONS = {
  instance_ended: ({ state }: { state: string }) => `the instance is ${state}`,
  instance_state_unknown: ({ state }: { state: string }) => `EC2 reports the unknown state ${state}`,
  other_fleet: ({ fleet }: { fleet: string }) => `the instance belongs to fleet ${fleet}`,
  instance_of_worker: ({ worker }: { worker: string }) => `the instance belongs to ${worker}`,
  not_selected_for_import: () => 'neither the tags nor the image of the instance select it for import',
  import_disabled: () => 'automatic import is turned off',
  instance_too_young: ({ seconds }: { seconds: number }) =>
    `the instance was launched less than ${spanText(seconds)} ago`,
}

const ORPHAN_REASONS = {
  worker_terminated: ({ worker, state }: { worker: string; state: string }) =>
    `${worker} is TERMINATED, but its instance is ${state}`,
  /** `worker_id` is null where the instance has no tag with one. */
  worker_unknown: ({ worker_id }: { worker_id: string | null }) =>
    worker_id === null ? 'the instance has no tag with a worker id' : `no worker has the id ${worker_id}`,
  worker_has_other_instance: ({ worker, instance_id }: { worker: string; instance_id: string }) =>
    `${worker} has another instance, ${instance_id}`,
  worker_not_launching: ({ worker, status }: { worker: string; status: string }) =>
    `${worker} is ${status} and does not wait for an instance`,
  orphan: ({ instance_id, region, cause }: { instance_id: string; region: string; cause: NestedReason }) =>
    `${instance_id} in ${region}: ${cause.message}`,
  orphan_held: ({ cause, refusal }: { cause: NestedReason; refusal: NestedReason }) =>
    `${cause.message}; ${refusal.message}`,
  orphan_found: ({ cause }: { cause: NestedReason }) => `${cause.message}; it is checked again in the next cycle`,
  orphan_reported: ({ cause }: { cause: NestedReason }) =>
    `${cause.message}; set orphan_action to terminate, or terminate the instance manually`,
  orphan_kept: ({ cause, tag }: { cause: NestedReason; tag: string }) => `${cause.message}; the tag ${tag} protects it`,
  orphan_too_young: ({ cause, seconds }: { cause: NestedReason; seconds: number }) =>
    `${cause.message}; it was launched less than ${spanText(seconds)} ago`,
  orphan_permit_granted: () => 'the hourly limit allows one more termination',
  orphan_limit_reached: ({ limit, machines }: { limit: number; machines: number }) =>
    `the limit of ${countText(limit, 'termination')} per hour is reached (fleet of ${countText(machines, 'machine')}); ` +
    'LCM tries again later',
  fleet_held: () => 'the fleet is on hold until every worker has been checked',
}

/** Why the idle policy can't read the telemetry of a worker. */
const UNREADABLE_TEXTS = {
  no_credentials: 'LCM has no credentials for CML',
  login_refused: 'CML refuses the login of LCM',
  telemetry_refused: 'CML refuses access to its telemetry',
  telemetry_off: 'telemetry is turned off in CML',
} as const

/** Why a worker is not stopped, by the guard that failed; and why it is. */
const IDLE_REASONS = {
  stop_already_requested: () => 'a stop or termination of the worker was already requested',
  idle_unknown: ({ telemetry }: { telemetry: keyof typeof UNREADABLE_TEXTS }) =>
    `${UNREADABLE_TEXTS[telemetry]}, so the idle policy can't judge the worker`,
  telemetry_unreadable: () => 'telemetry could not be read',
  not_idle: ({ idle_seconds, timeout_seconds }: { idle_seconds: number; timeout_seconds: number }) =>
    `last used or started ${spanText(idle_seconds)} ago; idle after ${spanText(timeout_seconds)}`,
  /** `scope`: whether the setting or the worker turns it off. */
  idle_detection_off: ({ scope }: { scope: 'fleet' | 'worker' }) =>
    scope === 'fleet' ? 'idle detection is turned off' : 'idle detection is turned off for the worker',
  idle_action_none: () => 'idle workers keep running (idle_action is none)',
  scale_down_disabled: () => 'idle_action is drain, but scale-down is turned off (scale_down_enabled is false)',
  worker_protected: () => 'the worker is protected',
  drain_in_progress: () => 'the worker is being drained',
  worker_has_sessions: ({ sessions }: { sessions: number }) =>
    `${countText(sessions, 'session')} ${sessions === 1 ? 'is' : 'are'} placed on the worker`,
  sessions_waiting_for_worker: ({ sessions }: { sessions: number }) =>
    `${countText(sessions, 'session')} ${sessions === 1 ? 'waits' : 'wait'} for the worker`,
  /** `nodes` is null where CML does not report the number. */
  running_nodes_kept: ({ nodes }: { nodes: number | null }) => {
    const running =
      nodes === null
        ? 'the number of running nodes is unknown'
        : `${countText(nodes, 'node')} ${nodes === 1 ? 'is' : 'are'} running`
    return `${running}, and idle_running_nodes is keep`
  },
  idle_snoozed: ({ seconds }: { seconds: number }) =>
    `the worker was started recently; the idle policy ignores it for another ${seconds} s`,
  status_held: ({ seconds }: { seconds: number }) =>
    `a user asked to keep this status; policies may change it in ${seconds} s`,
  min_workers_reached: ({ running, min_workers }: { running: number; min_workers: number }) =>
    `${countText(running, 'worker')} ${running === 1 ? 'is' : 'are'} running, and min_workers is ${min_workers}`,
  scale_down_share: ({ stops, limit, workers }: { stops: number; limit: number; workers: number }) =>
    `${countText(stops, 'worker')} ${stops === 1 ? 'was' : 'were'} stopped in the last 10 min; ` +
    `scale_down_max_share allows ${limit} of ${workers}`,
  scale_down_cooldown: ({ elapsed_seconds, cooldown_seconds }: { elapsed_seconds: number; cooldown_seconds: number }) =>
    `scale-down is on cooldown: the last automatic stop was ${elapsed_seconds} s ago, and the cooldown is ${cooldown_seconds} s`,
  idle_without_plan: ({
    worker,
    idle_seconds,
    boot_seconds,
  }: {
    worker: string
    idle_seconds: number
    boot_seconds: number
  }) =>
    `${worker} has been idle for ${Math.floor(idle_seconds / 60)} min, and no current plan has its next use; ` +
    `waiting any longer would cost more than another start (${spanText(boot_seconds)})`,
  idle_timeout: ({
    worker,
    idle_seconds,
    timeout_seconds,
  }: {
    worker: string
    idle_seconds: number
    timeout_seconds: number
  }) => `${worker} has been idle for ${Math.floor(idle_seconds / 60)} min; the timeout is ${spanText(timeout_seconds)}`,
}

const SCALE_UP_REASONS = {
  purchase: ({ key, count }: { key: string; count: number }) =>
    `purchase ${key} of ${count} ${count === 1 ? 'worker' : 'workers'}`,
  scale_up_cooldown: ({ template, seconds }: { template: string; last_at: string; seconds: number }) =>
    `scale-up of ${template} is on cooldown for ${seconds} s`,
  scale_up_in_progress: ({ workers }: { workers: number }) =>
    `${workers} ${workers === 1 ? 'worker' : 'workers'} of the last scale-up ${workers === 1 ? 'is' : 'are'} still starting`,
  region_limit: (p: { region: string; workers: number; count: number; limit: number }) =>
    `${p.region} has ${countText(p.workers, 'worker')}; ${p.count} more would exceed max_workers_per_region (${p.limit})`,
}

/** Reasons about fleet policies: idle detection, discovery, orphans, scale-up. */
export const FLEET_REASONS = {
  ...DISCOVERY_REASONS,
  ...ORPHAN_REASONS,
  ...IDLE_REASONS,
  ...SCALE_UP_REASONS,
}

import { reason, textReason } from '../../reason.ts'
import { FLEET_REASONS } from './fleet-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const CAUSE = reason('worker_unknown', { worker_id: 'w-1' })

const cause = textReason('the cause')
const refusal = textReason('the refusal')

const ROWS: readonly MessageRow[] = [
  [reason('instance_ended', { state: 'terminated' }), 'the instance is terminated'],
  [reason('instance_state_unknown', { state: 'rebooting' }), 'EC2 reports the unknown state rebooting'],
  [reason('other_fleet', { fleet: 'theirs' }), 'the instance belongs to fleet theirs'],
  [reason('instance_of_worker', { worker: 'nested-1' }), 'the instance belongs to nested-1'],
  [reason('not_selected_for_import'), 'neither the tags nor the image of the instance select it for import'],
  [reason('import_disabled'), 'automatic import is turned off'],
  [reason('instance_too_young', { seconds: 120 }), 'the instance was launched less than 2 min ago'],
  [
    reason('worker_terminated', { worker: 'nested-1', state: 'running' }),
    'nested-1 is TERMINATED, but its instance is running',
  ],
  [reason('worker_unknown', { worker_id: 'w-1' }), 'no worker has the id w-1'],
  [reason('worker_unknown', { worker_id: null }), 'the instance has no tag with a worker id'],
  [
    reason('worker_has_other_instance', { worker: 'nested-1', instance_id: 'i-2' }),
    'nested-1 has another instance, i-2',
  ],
  [
    reason('worker_not_launching', { worker: 'nested-1', status: 'FAILED' }),
    'nested-1 is FAILED and does not wait for an instance',
  ],
  [reason('orphan_found', { cause: CAUSE }), 'no worker has the id w-1; it is checked again in the next cycle'],
  [
    reason('orphan_reported', { cause: CAUSE }),
    'no worker has the id w-1; set orphan_action to terminate, or terminate the instance manually',
  ],
  [reason('orphan_kept', { cause: CAUSE, tag: 'lcm:keep' }), 'no worker has the id w-1; the tag lcm:keep protects it'],
  [
    reason('orphan_too_young', { cause: CAUSE, seconds: 600 }),
    'no worker has the id w-1; it was launched less than 10 min ago',
  ],
  [reason('orphan_permit_granted'), 'the hourly limit allows one more termination'],
  [
    reason('orphan_limit_reached', { limit: 2, machines: 10 }),
    'the limit of 2 terminations per hour is reached (fleet of 10 machines); LCM tries again later',
  ],
  [reason('fleet_held'), 'the fleet is on hold until every worker has been checked'],
  [reason('stop_already_requested'), 'a stop or termination of the worker was already requested'],
  [
    reason('idle_unknown', { telemetry: 'no_credentials' }),
    "LCM has no credentials for CML, so the idle policy can't judge the worker",
  ],
  [
    reason('idle_unknown', { telemetry: 'login_refused' }),
    "CML refuses the login of LCM, so the idle policy can't judge the worker",
  ],
  [
    reason('idle_unknown', { telemetry: 'telemetry_refused' }),
    "CML refuses access to its telemetry, so the idle policy can't judge the worker",
  ],
  [
    reason('idle_unknown', { telemetry: 'telemetry_off' }),
    "telemetry is turned off in CML, so the idle policy can't judge the worker",
  ],
  [reason('telemetry_unreadable'), 'telemetry could not be read'],
  [
    reason('not_idle', { idle_seconds: 720, timeout_seconds: 3600 }),
    'last used or started 12 min ago; idle after 60 min',
  ],
  [reason('not_idle', { idle_seconds: 50, timeout_seconds: 90 }), 'last used or started 50 s ago; idle after 90 s'],
  [reason('idle_detection_off', { scope: 'fleet' }), 'idle detection is turned off'],
  [reason('idle_detection_off', { scope: 'worker' }), 'idle detection is turned off for the worker'],
  [reason('idle_action_none'), 'idle workers keep running (idle_action is none)'],
  [reason('scale_down_disabled'), 'idle_action is drain, but scale-down is turned off (scale_down_enabled is false)'],
  [reason('worker_protected'), 'the worker is protected'],
  [reason('drain_in_progress'), 'the worker is being drained'],
  [reason('worker_has_sessions', { sessions: 1 }), '1 session is placed on the worker'],
  [reason('worker_has_sessions', { sessions: 2 }), '2 sessions are placed on the worker'],
  [reason('sessions_waiting_for_worker', { sessions: 1 }), '1 session waits for the worker'],
  [reason('sessions_waiting_for_worker', { sessions: 2 }), '2 sessions wait for the worker'],
  [reason('running_nodes_kept', { nodes: 3 }), '3 nodes are running, and idle_running_nodes is keep'],
  [
    reason('running_nodes_kept', { nodes: null }),
    'the number of running nodes is unknown, and idle_running_nodes is keep',
  ],
  [
    reason('idle_snoozed', { seconds: 1800 }),
    'the worker was started recently; the idle policy ignores it for another 1800 s',
  ],
  [reason('status_held', { seconds: 90 }), 'a user asked to keep this status; policies may change it in 90 s'],
  [reason('min_workers_reached', { running: 2, min_workers: 2 }), '2 workers are running, and min_workers is 2'],
  [
    reason('scale_down_share', { stops: 1, limit: 1, workers: 5 }),
    '1 worker was stopped in the last 10 min; scale_down_max_share allows 1 of 5',
  ],
  [
    reason('scale_down_cooldown', { elapsed_seconds: 30, cooldown_seconds: 600 }),
    'scale-down is on cooldown: the last automatic stop was 30 s ago, and the cooldown is 600 s',
  ],
  [
    reason('idle_without_plan', { worker: 'nested-1', idle_seconds: 720, boot_seconds: 600 }),
    'nested-1 has been idle for 12 min, and no current plan has its next use; ' +
      'waiting any longer would cost more than another start (10 min)',
  ],
  [
    reason('idle_timeout', { worker: 'nested-1', idle_seconds: 3900, timeout_seconds: 3600 }),
    'nested-1 has been idle for 65 min; the timeout is 60 min',
  ],
  [reason('orphan', { instance_id: 'i-1', region: 'us-east-1', cause }), 'i-1 in us-east-1: the cause'],
  [reason('orphan_held', { cause, refusal }), 'the cause; the refusal'],
  [reason('purchase', { key: 'k:1', count: 2 }), 'purchase k:1 of 2 workers'],
  [
    reason('scale_up_cooldown', { template: 'nested', last_at: '', seconds: 285 }),
    'scale-up of nested is on cooldown for 285 s',
  ],
  [reason('scale_up_in_progress', { workers: 1 }), '1 worker of the last scale-up is still starting'],
  [
    reason('region_limit', { region: 'us-east-1', workers: 9, count: 2, limit: 10 }),
    'us-east-1 has 9 workers; 2 more would exceed max_workers_per_region (10)',
  ],
]

checkMessages(FLEET_REASONS, ROWS)

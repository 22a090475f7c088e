import { countText } from '../amounts.ts'
import type { NestedReason } from './nested-reason.ts'

type Cause = { readonly cause: NestedReason }
type By = { readonly by: string }
type Step = { readonly step: string }
type Action = { readonly action: string }
type Lab = { readonly lab: string }

/** Reasons that the control plane and the controllers give for what they do themselves. */
export const CONTROLLER_REASONS = {
  not_given: () => 'no reason given',
  nothing_to_do: () => 'nothing to do',
  discovered: () => 'discovered in EC2',
  retry_requested_by: ({ by }: By) => `${by} requested a retry`,

  booked_by: ({ by }: By) => `${by} booked the session`,
  ended_by_housekeeping: () => 'the timeslot is over, and no controller ended the session',
  requeued_by: ({ by }: By) => `${by} requested another placement`,
  topology_not_fetched: () => 'the topology has not been fetched yet',
  placement_refused: ({ worker, cause }: { worker: string } & Cause) =>
    `${worker} can't take the session: ${cause.message}`,

  lab_action_requested_by: ({ by }: By) => `requested by ${by}`,
  step_started: ({ step }: Step) => `${step} starts`,
  step_in_progress: ({ step }: Step) => `${step} is in progress`,
  step_ended: ({ step, outcome }: Step & { outcome: string }) => `${step} is ${outcome}`,
  step_failed: ({ step, error }: Step & { error: string }) => `${step}: ${error}`,
  teardown_given_up: ({ step, error }: Step & { error: string }) =>
    `${step}: ${error}; the capacity stays reserved until a scan finds the lab stopped or gone`,
  nodes_booting: ({ booted, nodes }: { booted: number; nodes: number }) => `${booted} of ${nodes} nodes have booted`,
  nodes_not_booted: ({ nodes }: { nodes: string }) => `nodes have not booted: ${nodes}`,
  worker_address_changed: () => 'the address of the worker changed',
  worker_has_no_address: () => 'the worker has no address',
  worker_gone: () => 'the worker is gone',
  session_left_worker: ({ worker }: { worker: string }) => `the session left ${worker}`,
  session_needs_lab: () => 'the session needs its lab',
  session_over: () => 'the session is over',

  lab_action_started: ({ action }: Action) => `${action} starts`,
  lab_action_done: ({ action }: Action) => `${action} is complete`,
  lab_action_failed: (p: Action & { attempt: number; attempts_max: number; error: string }) =>
    `attempt ${p.attempt} of ${p.attempts_max} failed: ${p.error}`,
  lab_starting: ({ lab }: Lab) => `${lab} is starting`,
  lab_booting: ({ lab }: Lab) => `${lab} is booting`,
  lab_booted: () => 'all nodes have booted',
  lab_settling: ({ lab }: Lab) => `all nodes of ${lab} have booted; CML does not report the lab as stable yet`,
  lab_being_stopped: ({ lab }: Lab) => `${lab} is being stopped`,
  lab_being_wiped: ({ lab }: Lab) => `${lab} is being wiped`,
  lab_being_deleted: ({ lab }: Lab) => `${lab} is being deleted`,
  labs_in_teardown: ({ causes }: { causes: readonly NestedReason[] }) =>
    causes.map(({ message }) => message).join(', '),
  lab_ports_differ: () => 'the reused lab has tags for other ports; LCM deleted it and imports a new one',
  lab_gone_from_cml: ({ lab_id }: { lab_id: string }) => `CML has no lab ${lab_id} any more`,
  lab_of_ended_session: ({ session_id }: { session_id: string }) => `created for session ${session_id}, which is over`,
  earlier_lab_pending: ({ action }: Action) => `an earlier lab of the session has a pending ${action}`,
  lab_created_for_session: ({ session_id }: { session_id: string }) => `created for session ${session_id}`,
  lab_discovered: () => 'discovered on the worker',
  lab_seen: () => 'reported by CML',
  lab_not_in_scan: () => 'a complete scan of the worker did not find the lab',
  lab_machine_gone: () => 'the machine of the lab is gone',

  attempt_not_sent: ({ attempt }: { attempt: number }) => `launch attempt ${attempt} has not been sent yet`,
  instance_not_listed: ({ seconds }: { seconds: number }) =>
    `the instance has been missing from EC2's list for ${seconds} s`,
  many_instances_not_listed: ({ seconds, others }: { seconds: number; others: number }) =>
    `the instance has been missing from EC2's list for ${seconds} s, and ${others} others vanished within the hour: check the AWS account`,
  ec2_read_failed: ({ action, aws_code }: { action: string; aws_code: string }) =>
    `EC2 could not be read: ${action} failed with ${aws_code}`,
  ec2_refuses_access: (p: { action: string; region: string; aws_code: string; since: string }) =>
    `AWS has refused ${p.action} in ${p.region} (${p.aws_code}) since ${p.since}`,
  ec2_not_responding: ({ service, since }: { service: string; since: string }) =>
    `${service} has not responded since ${since}`,
  orphan: ({ instance_id, region, cause }: { instance_id: string; region: string } & Cause) =>
    `${instance_id} in ${region}: ${cause.message}`,
  orphan_held: ({ cause, refusal }: Cause & { refusal: NestedReason }) => `${cause.message}; ${refusal.message}`,

  assignment_failed: () => 'the assignment failed',
  capacity_taken: ({ cause }: Cause) => `the capacity was taken in the meantime: ${cause.message}`,
  placed_ahead: ({ minutes }: { minutes: number }) => `sessions are placed ${minutes} min before they begin`,
  scale_up_refused: ({ cause, refusal }: Cause & { refusal: NestedReason }) => `${cause.message}; ${refusal.message}`,

  purchase: ({ key, count }: { key: string; count: number }) =>
    `purchase ${key} of ${count} ${count === 1 ? 'worker' : 'workers'}`,
  scale_up_cooldown: ({ template, seconds }: { template: string; last_at: string; seconds: number }) =>
    `scale-up of ${template} is on cooldown for ${seconds} s`,
  scale_up_in_progress: ({ workers }: { workers: number }) =>
    `${workers} ${workers === 1 ? 'worker' : 'workers'} of the last scale-up ${workers === 1 ? 'is' : 'are'} still starting`,
  region_limit: (p: { region: string; workers: number; count: number; limit: number }) =>
    `${p.region} has ${countText(p.workers, 'worker')}; ${p.count} more would exceed max_workers_per_region (${p.limit})`,
}

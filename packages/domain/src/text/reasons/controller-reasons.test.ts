import { type Reason, type ReasonCode, reason, textReason } from '../../reason.ts'
import { CONTROLLER_REASONS } from './controller-reasons.ts'
import { checkMessages } from './testing/check-messages.ts'

const cause = textReason('the cause')
const refusal = textReason('the refusal')

const MESSAGES: readonly (readonly [ReasonCode, object, string])[] = [
  ['not_given', {}, 'no reason given'],
  ['nothing_to_do', {}, 'nothing to do'],
  ['discovered', {}, 'discovered in EC2'],
  ['retry_requested_by', { by: 'ada' }, 'ada requested a retry'],
  ['lab_action_requested_by', { by: 'ada' }, 'requested by ada'],
  ['booked_by', { by: 'ada' }, 'ada booked the session'],
  ['ended_by_housekeeping', {}, 'the timeslot is over, and no controller ended the session'],
  ['requeued_by', { by: 'ada' }, 'ada requested another placement'],
  ['topology_not_fetched', {}, 'the topology has not been fetched yet'],
  ['placement_refused', { worker: 'metal-1', cause }, "metal-1 can't take the session: the cause"],
  ['step_started', { step: 'bind' }, 'bind starts'],
  ['step_in_progress', { step: 'bind' }, 'bind is in progress'],
  ['step_ended', { step: 'bind', outcome: 'completed' }, 'bind is completed'],
  ['step_failed', { step: 'bind', error: 'no answer' }, 'bind: no answer'],
  [
    'teardown_given_up',
    { step: 'wipe', error: 'no answer' },
    'wipe: no answer; the capacity stays reserved until a scan finds the lab stopped or gone',
  ],
  ['nodes_booting', { booted: 1, nodes: 3 }, '1 of 3 nodes have booted'],
  ['nodes_not_booted', { nodes: 'r1 (STARTED)' }, 'nodes have not booted: r1 (STARTED)'],
  ['worker_address_changed', {}, 'the address of the worker changed'],
  ['worker_has_no_address', {}, 'the worker has no address'],
  ['worker_gone', {}, 'the worker is gone'],
  ['session_left_worker', { worker: 'metal-1' }, 'the session left metal-1'],
  ['session_needs_lab', {}, 'the session needs its lab'],
  ['session_over', {}, 'the session is over'],
  ['lab_action_started', { action: 'stop' }, 'stop starts'],
  ['lab_action_done', { action: 'stop' }, 'stop is complete'],
  [
    'lab_action_failed',
    { action: 'stop', attempt: 1, attempts_max: 3, error: 'no answer' },
    'attempt 1 of 3 failed: no answer',
  ],
  ['lab_starting', { lab: 'BGP' }, 'BGP is starting'],
  ['lab_booting', { lab: 'BGP' }, 'BGP is booting'],
  ['lab_booted', {}, 'all nodes have booted'],
  ['lab_settling', { lab: 'BGP' }, 'all nodes of BGP have booted; CML does not report the lab as stable yet'],
  ['lab_being_stopped', { lab: 'BGP' }, 'BGP is being stopped'],
  ['lab_being_wiped', { lab: 'BGP' }, 'BGP is being wiped'],
  ['lab_being_deleted', { lab: 'BGP' }, 'BGP is being deleted'],
  ['labs_in_teardown', { causes: [cause, refusal] }, 'the cause, the refusal'],
  ['lab_ports_differ', {}, 'the reused lab has tags for other ports; LCM deleted it and imports a new one'],
  ['lab_gone_from_cml', { lab_id: 'b3f5' }, 'CML has no lab b3f5 any more'],
  ['lab_of_ended_session', { session_id: 'ls-1' }, 'created for session ls-1, which is over'],
  ['earlier_lab_pending', { action: 'delete' }, 'an earlier lab of the session has a pending delete'],
  ['lab_created_for_session', { session_id: 'ls-1' }, 'created for session ls-1'],
  ['lab_discovered', {}, 'discovered on the worker'],
  ['lab_seen', {}, 'reported by CML'],
  ['lab_not_in_scan', {}, 'a complete scan of the worker did not find the lab'],
  ['lab_machine_gone', {}, 'the machine of the lab is gone'],
  ['attempt_not_sent', { attempt: 2 }, 'launch attempt 2 has not been sent yet'],
  ['instance_not_listed', { seconds: 30 }, "the instance has been missing from EC2's list for 30 s"],
  [
    'many_instances_not_listed',
    { seconds: 90, others: 4 },
    "the instance has been missing from EC2's list for 90 s, and 4 others vanished within the hour: check the AWS account",
  ],
  [
    'ec2_read_failed',
    { action: 'DescribeInstances', aws_code: 'Timeout' },
    'EC2 could not be read: DescribeInstances failed with Timeout',
  ],
  [
    'ec2_refuses_access',
    { action: 'DescribeInstances', region: 'us-east-1', aws_code: 'AuthFailure', since: '2026-01-02T03:04:05.678Z' },
    'AWS has refused DescribeInstances in us-east-1 (AuthFailure) since 2026-01-02T03:04:05.678Z',
  ],
  [
    'ec2_not_responding',
    { service: 'EC2 in us-east-1', since: '2026-01-02T03:04:05.678Z' },
    'EC2 in us-east-1 has not responded since 2026-01-02T03:04:05.678Z',
  ],
  ['orphan', { instance_id: 'i-1', region: 'us-east-1', cause }, 'i-1 in us-east-1: the cause'],
  ['orphan_held', { cause, refusal }, 'the cause; the refusal'],
  ['assignment_failed', {}, 'the assignment failed'],
  ['capacity_taken', { cause }, 'the capacity was taken in the meantime: the cause'],
  ['placed_ahead', { minutes: 30 }, 'sessions are placed 30 min before they begin'],
  ['scale_up_refused', { cause, refusal }, 'the cause; the refusal'],
  ['purchase', { key: 'k:1', count: 2 }, 'purchase k:1 of 2 workers'],
  [
    'scale_up_cooldown',
    { template: 'nested', last_at: '', seconds: 285 },
    'scale-up of nested is on cooldown for 285 s',
  ],
  ['scale_up_in_progress', { workers: 1 }, '1 worker of the last scale-up is still starting'],
  [
    'region_limit',
    { region: 'us-east-1', workers: 9, count: 2, limit: 10 },
    'us-east-1 has 9 workers; 2 more would exceed max_workers_per_region (10)',
  ],
]

const make = reason as (code: ReasonCode, params: object) => Reason

checkMessages(
  CONTROLLER_REASONS,
  MESSAGES.map(([code, params, message]) => [make(code, params), message]),
)

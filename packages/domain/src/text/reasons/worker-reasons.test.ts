import { reason } from '../../reason.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'
import { LAUNCH_REASONS, WORKER_REASONS } from './worker-reasons.ts'

const READY = reason('cml_ready', { version: '2.9.0' })
const TIMEOUT = reason('status_timeout', { status: 'STARTING', minutes: 30 })
const TERMINATED = { instance_id: 'i-1', state: 'terminated' }
const DYING = { instance_id: 'i-1', state: 'shutting-down' }
const INTERNAL_ERROR = { ...TERMINATED, state_reason: 'Server.InternalError' }
const REFUSED = { worker_id: 'w-1', error: '403' }

const ROWS: readonly MessageRow[] = [
  [reason('worker_created'), 'created'],
  [
    reason('requested_by', { by: 'ann', status: 'STOPPED', reason: 'course is over' }),
    'ann requested STOPPED: course is over',
  ],
  [reason('requested_by', { by: 'ann', status: 'STOPPED', reason: '' }), 'ann requested STOPPED'],
  [reason('refreshed', { cause: READY }), 'refreshed on request: CML 2.9.0 is ready'],
  [reason('worker_idle'), 'the worker was idle'],
  [reason('stopped_outside_lcm'), 'the instance was stopped outside LCM'],
  [reason('scale_up_never_ran'), 'a scale-up created the worker and it never ran'],
  [reason('at_desired_status', { status: 'RUNNING' }), 'RUNNING, as requested'],
  [reason('terminated_is_final'), 'TERMINATED is final'],
  [reason('activity_check_due'), 'the check whether the worker is in use is due'],
  [reason('ec2_reports', { state: 'stopped' }), 'EC2 reports the instance as stopped'],
  [
    reason('not_stoppable_yet', { state: 'pending' }),
    "EC2 reports the instance as pending, which can't be stopped yet",
  ],
  [reason('start_accepted', { state: 'pending' }), 'EC2 accepted the start and reports the instance as pending'],
  [
    reason('started_outside_lcm', { state: 'running' }),
    'the instance was started outside LCM: EC2 reports it as running',
  ],
  [reason('stopping_outside_lcm'), 'EC2 reports the instance as stopping, which LCM did not request'],
  [
    reason('ec2_facts_changed', { fields: ['public_ip', 'https_endpoint'] }),
    'EC2 reports a different public_ip, https_endpoint',
  ],
  [reason('instance_state', { ...TERMINATED, state_reason: null }), 'i-1 is terminated'],
  [reason('instance_state', INTERNAL_ERROR), 'i-1 is terminated (Server.InternalError)'],
  [
    reason('instance_lost_before_running', INTERNAL_ERROR),
    'i-1 is terminated (Server.InternalError) before it ever ran',
  ],
  [
    reason('status_without_instance', { status: 'RUNNING', cause: reason('nothing_launched') }),
    'RUNNING without an instance: no instance was launched',
  ],
  [
    reason('ec2_refuses', {
      action: 'stop',
      instance_id: 'i-1',
      aws_code: 'OperationNotPermitted',
      error: 'it is protected',
    }),
    'EC2 refuses to stop i-1: it is protected',
  ],
  [reason('stop_overdue'), 'the stop takes too long, so LCM forces it'],
  [reason('boot_stage_passed'), 'passed'],
  [reason('boot_stage_pending'), 'waiting for an earlier stage of the boot'],
  [
    reason('boot_stage_waiting', { stage: 'InstanceRunning', detail: '' }),
    'waiting for EC2 to report the instance as running',
  ],
  [
    reason('boot_stage_waiting', { stage: 'TcpReachable', detail: 'refused' }),
    'waiting for the CML port to open: refused',
  ],
  [
    reason('boot_progress', { stage: 6, stages: 6, waiting_for: 'CmlReady', detail: '' }),
    'boot stage 6 of 6: waiting for CML to report ready',
  ],
  [
    reason('boot_progress', { stage: 4, stages: 6, waiting_for: 'GatewayAnswers', detail: 'timeout' }),
    'boot stage 4 of 6: waiting for the CML web server to answer: timeout',
  ],
  [reason('cml_settling'), 'CML is ready; LCM checks a few more times that it stays ready'],
  [reason('address_known'), 'EC2 reports the address of the instance'],
  [reason('no_address_yet'), 'the instance has no address yet'],
  [READY, 'CML 2.9.0 is ready'],
  [reason('cml_ready', { version: null }), 'CML is ready'],
  [
    reason('machine_started_again', { launched_at: '2026-01-02T03:04:05.678Z' }),
    'EC2 started the machine at 2026-01-02 03:04 UTC, after its CML was ready: it was restarted',
  ],
  [
    reason('labs_lost', { labs: 1, running_nodes: 0 }),
    'the machine was restarted: 1 lab stopped without a request; CML runs 0 nodes',
  ],
  [
    reason('labs_lost', { labs: 3, running_nodes: 1 }),
    'the machine was restarted: 3 labs stopped without a request; CML runs 1 node',
  ],
  [reason('worker_serves_again', { worker: 'metal-1', restarted_at: null }), 'metal-1 serves labs again'],
  [reason('cml_silent', { detail: 'timeout' }), 'CML stopped answering: timeout'],
  [reason('cml_first_answer'), 'CML answers for the first time'],
  [reason('node_definitions_changed', { count: 1, cause: null }), 'CML offers 1 node definition'],
  [reason('node_definitions_changed', { count: 7, cause: READY }), 'CML 2.9.0 is ready; CML offers 7 node definitions'],
  [TIMEOUT, 'STARTING for more than 30 minutes'],
  [
    reason('stops_after_each_start', { status: 'STARTING', minutes: 30, state_reason: 'Client.InternalError' }),
    'STARTING for more than 30 minutes, and the instance stops after each start: Client.InternalError',
  ],
  [
    reason('retry_scheduled', { retry: 1, retries: 3, cause: TIMEOUT }),
    'waiting for retry 1 of 3 after: STARTING for more than 30 minutes',
  ],
  [
    reason('retry_started', { retry: 1, retries: 3, cause: TIMEOUT }),
    'retry 1 of 3 after: STARTING for more than 30 minutes',
  ],
  [reason('template_changed', { template: 'metal' }), 'template metal has changed since the worker failed'],
  [reason('stop_resets_failure'), 'the stop makes the failed worker ready for another start'],
  [
    reason('failed_without_instance'),
    'the worker failed before it had an instance; fix its template, retry the worker, or terminate it',
  ],
  [reason('failed_and_stopped'), 'the worker failed and its instance is stopped; retry the worker or terminate it'],
  [
    reason('failed_but_protected', { instance_id: 'i-1' }),
    'the worker failed and is protected, so i-1 keeps running and costs money',
  ],
  [reason('stopping_after_failure'), 'the worker failed; LCM stops its instance to save money'],
  [reason('stopped_after_failure'), 'the instance was stopped after the worker failed; its disk is kept'],
  [reason('drain_requested', { by: 'ann' }), 'ann requested a drain'],
  [reason('drain_canceled'), 'the drain was canceled'],
  [reason('drain_waiting', { sessions: 1, minutes_left: 10 }), '1 session on the worker; 10 min left'],
  [
    reason('drain_completed', { by: 'ann', is_protected: false }),
    'the drain that ann requested is complete: no session is left on the worker',
  ],
  [
    reason('drain_completed', { by: 'ann', is_protected: true }),
    'the drain that ann requested is complete: no session is left on the worker; the worker is protected, so LCM only stops it',
  ],
  [
    reason('drain_timeout', { sessions: 2, by: 'ann', is_protected: false }),
    'the drain that ann requested timed out with 2 sessions on the worker',
  ],
  [reason('termination_confirmed', TERMINATED), 'EC2 confirms that i-1 is terminated'],
  [reason('terminated_outside_lcm', TERMINATED), 'i-1 was terminated outside LCM; its disk is lost'],
  [reason('terminated_outside_lcm', DYING), 'i-1 is being terminated outside LCM'],
  [reason('terminated_by_shutdown', TERMINATED), 'i-1 shut itself down and was terminated; its disk is lost'],
  [reason('terminated_by_aws', INTERNAL_ERROR), 'i-1 was terminated by AWS (Server.InternalError); its disk is lost'],
  [reason('terminated_unexpectedly', TERMINATED), 'i-1 was terminated, which LCM did not request; its disk is lost'],
  [
    reason('termination_not_requested'),
    'EC2 reported the instance as shutting down, but no termination was requested in LCM',
  ],
  [reason('termination_overdue', { minutes: 20 }), 'EC2 has not terminated the instance within 20 min'],
  [
    reason('owned_by_other_fleet', { instance_id: 'i-1' }),
    'i-1 has the tag of another fleet, so LCM does not change it',
  ],
  [
    reason('ownership_tag_missing', { instance_id: 'i-1' }),
    'i-1 no longer has the tag of this fleet, so LCM does not change it',
  ],
  [reason('ownership_restored', { instance_id: 'i-1' }), 'LCM may change i-1 again'],
  [reason('fleet_tag_foreign', { fleet: 'theirs' }), 'the instance has the tag of fleet theirs'],
  [
    reason('fleet_tag_missing', { tag: 'lcm:fleet', value: 'lcm' }),
    "the instance lost the tag lcm:fleet=lcm; LCM can't terminate the instance until the tag is restored",
  ],
  [reason('tags_changed'), 'the tags of the instance have changed'],
  [reason('name_tag_differs', { tag: 'Name', name: 'ada' }), 'the tag Name of the instance is not "ada"'],
  [
    reason('name_tag_retry', { tag: 'Name', cause: READY }),
    'CML 2.9.0 is ready; LCM sets the tag Name of the instance again later',
  ],
  [
    reason('endpoint_tag_ignored', { tag: 'cml-endpoint', value: 'x', cause: reason('endpoint_malformed') }),
    'the tag cml-endpoint=x is ignored: it is not of the form https://ADDRESS:PORT. Correct or remove it',
  ],
  [reason('endpoint_malformed'), 'it is not of the form https://ADDRESS:PORT'],
  [
    reason('endpoint_address_foreign', { host: '10.0.0.8', instance_id: 'i-1' }),
    'EC2 does not report 10.0.0.8 as an address of i-1',
  ],
  [reason('endpoint_port_invalid', { port: '65536' }), '65536 is not a port'],
  [
    reason('endpoint_port_of_nodes', { port: 2222, first: 2000, last: 7999 }),
    'ports 2000 to 7999 lead to the nodes of labs',
  ],
  [
    reason('cml_credentials_missing', { ...REFUSED, error: null }),
    "LCM has no credentials for its CML: LCM can't measure this worker, start labs on it, or judge whether it is idle",
  ],
  [
    reason('approval_required', { worker_id: 'w-1' }),
    'LCM did not launch this machine, so it gets no password, no license and no sessions before it is approved: ' +
      'run `lcm approve worker w-1`',
  ],
  [
    reason('certificate_changed', { worker_id: 'w-1', pinned: 'abc', seen: 'def' }),
    'CML shows another certificate than before. If its fingerprint is really def, ' +
      'run `lcm repin worker w-1 --fingerprint def`',
  ],
  [
    reason('cml_login_refused', REFUSED),
    "CML refuses LCM's login (403): LCM can't measure this worker, start labs on it, or judge whether it is idle",
  ],
  [
    reason('cml_telemetry_refused', REFUSED),
    `CML refuses to show its telemetry (403): LCM can't judge whether this worker is idle`,
  ],
  [
    reason('cml_telemetry_off', { ...REFUSED, error: null }),
    "telemetry is turned off in its CML: LCM can't judge whether this worker is idle, and so does not stop it",
  ],
  [reason('cml_system_stats_refused', REFUSED), `CML refuses to show its load (403): LCM can't measure this worker`],
  [
    reason('cml_system_health_refused', REFUSED),
    `CML refuses to show its health (403): LCM can't see the health of its CML`,
  ],
  [
    reason('cml_node_definitions_refused', REFUSED),
    `CML refuses to list its node definitions (403): LCM doesn't know which labs it can run`,
  ],
  [
    reason('cml_licensing_refused', REFUSED),
    `CML refuses to show its license (403): LCM can't see or return its license`,
  ],
  [reason('cml_access_restored'), 'CML no longer refuses what LCM needs'],
  [reason('metrics_stale'), "neither CloudWatch nor CML reports the worker's load"],
  [reason('metrics_restored'), "the worker's load is measured again"],
  [reason('discovered'), 'discovered in EC2'],
  [reason('retry_requested_by', { by: 'ada' }), 'ada requested a retry'],
  [reason('instance_not_listed', { seconds: 30 }), "the instance has been missing from EC2's list for 30 s"],
  [
    reason('many_instances_not_listed', { seconds: 90, others: 4 }),
    "the instance has been missing from EC2's list for 90 s, and 4 others vanished within the hour: check the AWS account",
  ],
  [
    reason('ec2_read_failed', { action: 'DescribeInstances', aws_code: 'Timeout' }),
    'EC2 could not be read: DescribeInstances failed with Timeout',
  ],
  [
    reason('ec2_refuses_access', {
      action: 'DescribeInstances',
      region: 'us-east-1',
      aws_code: 'AuthFailure',
      since: '2026-01-02T03:04:05.678Z',
    }),
    'AWS has refused DescribeInstances in us-east-1 (AuthFailure) since 2026-01-02 03:04 UTC',
  ],
  [
    reason('ec2_not_responding', { service: 'EC2 in us-east-1', since: '2026-01-02T03:04:05.678Z' }),
    'EC2 in us-east-1 has not responded since 2026-01-02 03:04 UTC',
  ],
]

checkMessages(WORKER_REASONS, ROWS)

const NO_TEMPLATE = reason('template_not_found', { template: 'metal' })
const LAUNCHED = { instance_id: 'i-1', attempt: 2 }
const ERROR = { attempt: 2, error: 'no' }

const LAUNCH_ROWS: readonly MessageRow[] = [
  [
    reason('launch_attempt', { attempt: 2, instance_type: 'm5.metal', subnet_id: 'subnet-a' }),
    'attempt 2: m5.metal in subnet-a',
  ],
  [reason('launch_attempt_open', { attempt: 2 }), 'launching (attempt 2): EC2 shows no instance yet'],
  [reason('launch_attempt_unresolved', { attempt: 2 }), 'EC2 may still report an instance of launch attempt 2'],
  [reason('launch_attempt_died', { ...LAUNCHED, state: 'terminated' }), 'i-1 of attempt 2 is terminated'],
  [reason('launch_attempt_spent', ERROR), "attempt 2 can't launch any more: no"],
  [reason('launch_attempt_mismatch', ERROR), 'EC2 has already received launch attempt 2 with different parameters: no'],
  [reason('launch_attempt_closed', { ...ERROR, state: 'refused' }), 'attempt 2 was refused: no'],
  [reason('launch_paused', ERROR), 'pausing before the next attempt: no'],
  [
    reason('launch_paused', { attempt: 2, error: null }),
    'pausing before the next attempt: the instance of the last one died',
  ],
  [
    reason('launch_outcome_unknown', ERROR),
    'LCM repeats attempt 2, since it is not known whether it launched an instance: no',
  ],
  [reason('instance_launched', { instance_id: 'i-1' }), 'launched i-1'],
  [reason('launch_token_found', LAUNCHED), 'i-1 carries the launch token of attempt 2'],
  [reason('launch_token_missing', LAUNCHED), 'i-1 has the tags of this worker, but not the launch token of attempt 2'],
  [
    reason('launch_image_differs', { ...LAUNCHED, image_id: 'ami-2', expected_image_id: 'ami-1' }),
    'i-1 carries the launch token of attempt 2, but runs ami-2, not ami-1: LCM did not launch it',
  ],
  [reason('nothing_launched'), 'no instance was launched'],
  [reason('stopped_before_launch'), 'the worker was stopped before its launch; start it to launch it'],
  [reason('launch_input_missing', { cause: NO_TEMPLATE }), 'template metal does not exist'],
  [reason('launch_input_timeout', { cause: NO_TEMPLATE }), 'gave up waiting: template metal does not exist'],
  [NO_TEMPLATE, 'template metal does not exist'],
  [reason('template_disabled', { template: 'metal' }), 'template metal is disabled'],
  [reason('region_not_configured', { region: 'us-east-1' }), 'region us-east-1 is not configured'],
  [reason('subnet_not_configured', { region: 'us-east-1' }), 'no subnet is configured in us-east-1'],
  [
    reason('image_not_found', { pattern: 'cml-*', owner: 'self', region: 'us-east-1' }),
    'no available image "cml-*" of owner self in us-east-1',
  ],
  [
    reason('ec2_no_capacity', {
      action: 'launch',
      instance_types: ['m5zn.metal', 'm5.metal'],
      locations: ['subnet-a', 'subnet-b'],
      aws_code: null,
      retry_minutes: 3,
    }),
    'EC2 has no capacity for m5zn.metal, m5.metal in subnet-a, subnet-b; LCM tries again every 3 min',
  ],
  [
    reason('ec2_no_capacity', {
      action: 'start',
      instance_types: ['m5zn.metal'],
      locations: ['us-east-1a'],
      aws_code: 'InsufficientInstanceCapacity',
      retry_minutes: 3,
    }),
    'EC2 has no capacity to start m5zn.metal in us-east-1a, where its disk is (InsufficientInstanceCapacity); LCM tries again every 3 min',
  ],
  [
    reason('aws_denies', { action: 'launch', error_class: 'quota', aws_code: 'VcpuLimitExceeded', error: 'no' }),
    'AWS denies the launch to this account: no',
  ],
  [reason('launch_throttled', ERROR), 'EC2 throttles the launch: no'],
  [
    reason('launch_invalid', { aws_code: 'InvalidParameterValue', error: 'no' }),
    'EC2 rejects the launch as invalid: no',
  ],
  [reason('attempt_not_sent', { attempt: 2 }), 'launch attempt 2 has not been sent yet'],
]

checkMessages(LAUNCH_REASONS, LAUNCH_ROWS)

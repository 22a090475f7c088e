import { countText, momentText } from '../format-amounts.ts'
import { NOT_LAUNCHED } from './license-reasons.ts'
import type { NestedReason } from './nested-reason.ts'

/** What a boot waits for, by the first condition that does not hold. */
const BOOT_WAITS = {
  InstanceRunning: 'waiting for EC2 to report the instance as running',
  TcpReachable: 'waiting for the CML port to open',
  TlsEstablished: 'waiting for the CML web server to speak TLS',
  GatewayAnswers: 'waiting for the CML web server to answer',
  ApiAnswers: 'waiting for the CML controller behind the web server',
  CmlReady: 'waiting for CML to report ready',
} as const
type BootCondition = keyof typeof BOOT_WAITS

/** What CML refuses, by part. */
export const CML_REFUSALS = {
  credentials: 'LCM has no credentials for its CML',
  login: "CML refuses LCM's login",
  telemetry: 'CML refuses to show its telemetry',
  telemetry_off: 'telemetry is turned off in its CML',
  system_stats: 'CML refuses to show its load',
  system_health: 'CML refuses to show its health',
  node_definitions: 'CML refuses to list its node definitions',
  licensing: 'CML refuses to show its license',
} as const
type CmlPart = keyof typeof CML_REFUSALS

const CML_REFUSAL_EFFECTS: Readonly<Record<CmlPart, string>> = {
  credentials: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  login: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  telemetry: "LCM can't judge whether this worker is idle",
  telemetry_off: "LCM can't judge whether this worker is idle, and so does not stop it",
  system_stats: "LCM can't measure this worker",
  system_health: "LCM can't see the health of its CML",
  node_definitions: "LCM doesn't know which labs it can run",
  licensing: "LCM can't see or return its license",
}

interface CmlRefusalParams {
  readonly worker_id: string
  /** The answer of CML; null where CML was not asked. */
  readonly error: string | null
}

function cmlRefusal(part: CmlPart, { error }: CmlRefusalParams): string {
  const words = error === null ? '' : ` (${error})`
  return `${CML_REFUSALS[part]}${words}: ${CML_REFUSAL_EFFECTS[part]}`
}

const after = (text: string | null): string => (text === null || text === '' ? '' : `: ${text}`)
const inBrackets = (text: string | null): string => (text === null ? '' : ` (${text})`)

interface InstanceState {
  readonly instance_id: string
  readonly state: string
}
const isTerminated = ({ state }: InstanceState): boolean => state === 'terminated'
const wasTerminated = (about: InstanceState): string =>
  `${about.instance_id} ${isTerminated(about) ? 'was' : 'is being'} terminated`
const diskLost = (about: InstanceState): string => (isTerminated(about) ? '; its disk is lost' : '')

interface Timeout {
  readonly status: string
  readonly minutes: number
}
const statusTimeout = ({ status, minutes }: Timeout): string => `${status} for more than ${minutes} minutes`

interface DrainEnd {
  readonly by: string
  readonly is_protected: boolean
}
const onlyStopped = ({ is_protected }: DrainEnd): string =>
  is_protected ? '; the worker is protected, so LCM only stops it' : ''

/** Reasons about workers: requests, boots, stops, terminations, failures, drains, ownership, access to CML. */
export const WORKER_REASONS = {
  // Requests and policies.
  worker_created: () => 'created',
  requested_by: ({ by, status, reason }: { by: string; status: string; reason: string }) =>
    `${by} requested ${status}${after(reason)}`,
  retry_requested_by: ({ by }: { by: string }) => `${by} requested a retry`,
  discovered: () => 'discovered in EC2',
  refreshed: ({ cause }: { cause: NestedReason }) => `refreshed on request: ${cause.message}`,
  worker_idle: () => 'the worker was idle',
  stopped_outside_lcm: () => 'the instance was stopped outside LCM',
  scale_up_never_ran: () => 'a scale-up created the worker and it never ran',
  at_desired_status: ({ status }: { status: string }) => `${status}, as requested`,
  terminated_is_final: () => 'TERMINATED is final',
  activity_check_due: () => 'the check whether the worker is in use is due',

  // What EC2 reports.
  ec2_reports: ({ state }: { state: string }) => `EC2 reports the instance as ${state}`,
  not_stoppable_yet: ({ state }: { state: string }) =>
    `EC2 reports the instance as ${state}, which can't be stopped yet`,
  start_accepted: ({ state }: { state: string }) => `EC2 accepted the start and reports the instance as ${state}`,
  started_outside_lcm: ({ state }: { state: string }) =>
    `the instance was started outside LCM: EC2 reports it as ${state}`,
  stopping_outside_lcm: () => 'EC2 reports the instance as stopping, which LCM did not request',
  ec2_facts_changed: ({ fields }: { fields: readonly string[] }) => `EC2 reports a different ${fields.join(', ')}`,
  instance_state: ({ instance_id, state, state_reason }: InstanceState & { state_reason: string | null }) =>
    `${instance_id} is ${state}${inBrackets(state_reason)}`,
  instance_lost_before_running: ({
    instance_id,
    state,
    state_reason,
  }: InstanceState & { state_reason: string | null }) =>
    `${instance_id} is ${state}${inBrackets(state_reason)} before it ever ran`,
  status_without_instance: ({ status, cause }: { status: string; cause: NestedReason }) =>
    `${status} without an instance: ${cause.message}`,
  ec2_refuses: ({
    action,
    instance_id,
    error,
  }: {
    action: string
    instance_id: string | null
    aws_code: string
    error: string
  }) => `EC2 refuses to ${action} ${instance_id}: ${error}`,
  instance_not_listed: ({ seconds }: { seconds: number }) =>
    `the instance has been missing from EC2's list for ${seconds} s`,
  many_instances_not_listed: ({ seconds, others }: { seconds: number; others: number }) =>
    `the instance has been missing from EC2's list for ${seconds} s, and ${others} others vanished within the hour: check the AWS account`,
  ec2_read_failed: ({ action, aws_code }: { action: string; aws_code: string }) =>
    `EC2 could not be read: ${action} failed with ${aws_code}`,
  ec2_refuses_access: (p: { action: string; region: string; aws_code: string; since: string }) =>
    `AWS has refused ${p.action} in ${p.region} (${p.aws_code}) since ${momentText(p.since)}`,
  ec2_not_responding: ({ service, since }: { service: string; since: string }) =>
    `${service} has not responded since ${momentText(since)}`,
  stop_overdue: () => 'the stop takes too long, so LCM forces it',

  // The boot.
  boot_stage_passed: () => 'passed',
  boot_stage_pending: () => 'waiting for an earlier stage of the boot',
  boot_stage_waiting: ({ stage, detail }: { stage: BootCondition; detail: string }) =>
    `${BOOT_WAITS[stage]}${after(detail)}`,
  boot_progress: ({
    stage,
    stages,
    waiting_for,
    detail,
  }: {
    stage: number
    stages: number
    waiting_for: BootCondition
    detail: string
  }) => `boot stage ${stage} of ${stages}: ${BOOT_WAITS[waiting_for]}${after(detail)}`,
  cml_settling: () => 'CML is ready; LCM checks a few more times that it stays ready',
  address_known: () => 'EC2 reports the address of the instance',
  no_address_yet: () => 'the instance has no address yet',
  cml_ready: ({ version }: { version: string | null }) => `CML${version === null ? '' : ` ${version}`} is ready`,
  machine_started_again: ({ launched_at }: { launched_at: string }) =>
    `EC2 started the machine at ${momentText(launched_at)}, after its CML was ready: it was restarted`,
  labs_lost: ({ labs, running_nodes }: { labs: number; running_nodes: number }) =>
    `the machine was restarted: ${countText(labs, 'lab')} stopped without a request; CML runs ${countText(running_nodes, 'node')}`,
  worker_serves_again: ({ worker }: { worker: string; restarted_at: string | null }) => `${worker} serves labs again`,
  cml_silent: ({ detail }: { detail: string }) => `CML stopped answering${after(detail)}`,
  cml_first_answer: () => 'CML answers for the first time',
  node_definitions_changed: ({ count, cause }: { count: number; cause: NestedReason | null }) =>
    `${cause === null ? '' : `${cause.message}; `}CML offers ${countText(count, 'node definition')}`,

  // Failures and retries.
  status_timeout: (timeout: Timeout) => statusTimeout(timeout),
  stops_after_each_start: (timeout: Timeout & { state_reason: string | null }) =>
    `${statusTimeout(timeout)}, and the instance stops after each start${after(timeout.state_reason)}`,
  retry_scheduled: ({ retry, retries, cause }: { retry: number; retries: number; cause: NestedReason }) =>
    `waiting for retry ${retry} of ${retries} after: ${cause.message}`,
  retry_started: ({ retry, retries, cause }: { retry: number; retries: number; cause: NestedReason }) =>
    `retry ${retry} of ${retries} after: ${cause.message}`,
  template_changed: ({ template }: { template: string }) => `template ${template} has changed since the worker failed`,
  stop_resets_failure: () => 'the stop makes the failed worker ready for another start',
  failed_without_instance: () =>
    'the worker failed before it had an instance; fix its template, retry the worker, or terminate it',
  failed_and_stopped: () => 'the worker failed and its instance is stopped; retry the worker or terminate it',
  failed_but_protected: ({ instance_id }: { instance_id: string }) =>
    `the worker failed and is protected, so ${instance_id} keeps running and costs money`,
  stopping_after_failure: () => 'the worker failed; LCM stops its instance to save money',
  stopped_after_failure: () => 'the instance was stopped after the worker failed; its disk is kept',

  // Drains.
  drain_requested: ({ by }: { by: string }) => `${by} requested a drain`,
  drain_canceled: () => 'the drain was canceled',
  drain_waiting: ({ sessions, minutes_left }: { sessions: number; minutes_left: number }) =>
    `${countText(sessions, 'session')} on the worker; ${minutes_left} min left`,
  drain_completed: (end: DrainEnd) =>
    `the drain that ${end.by} requested is complete: no session is left on the worker${onlyStopped(end)}`,
  drain_timeout: (end: DrainEnd & { sessions: number }) =>
    `the drain that ${end.by} requested timed out with ${countText(end.sessions, 'session')} on the worker${onlyStopped(end)}`,

  // Terminations.
  termination_confirmed: ({ instance_id, state }: InstanceState) => `EC2 confirms that ${instance_id} is ${state}`,
  terminated_outside_lcm: (about: InstanceState) => `${wasTerminated(about)} outside LCM${diskLost(about)}`,
  terminated_by_shutdown: (about: InstanceState) =>
    `${about.instance_id} shut itself down and ${isTerminated(about) ? 'was' : 'is being'} terminated${diskLost(about)}`,
  terminated_by_aws: (about: InstanceState & { state_reason: string }) =>
    `${wasTerminated(about)} by AWS (${about.state_reason})${diskLost(about)}`,
  terminated_unexpectedly: (about: InstanceState) =>
    `${wasTerminated(about)}, which LCM did not request${diskLost(about)}`,
  termination_not_requested: () =>
    'EC2 reported the instance as shutting down, but no termination was requested in LCM',
  termination_overdue: ({ minutes }: { minutes: number }) =>
    `EC2 has not terminated the instance within ${minutes} min`,

  // Ownership and tags.
  owned_by_other_fleet: ({ instance_id }: { instance_id: string }) =>
    `${instance_id} has the tag of another fleet, so LCM does not change it`,
  ownership_tag_missing: ({ instance_id }: { instance_id: string }) =>
    `${instance_id} no longer has the tag of this fleet, so LCM does not change it`,
  ownership_restored: ({ instance_id }: { instance_id: string }) => `LCM may change ${instance_id} again`,
  fleet_tag_foreign: ({ fleet }: { fleet: string }) => `the instance has the tag of fleet ${fleet}`,
  fleet_tag_missing: ({ tag, value }: { tag: string; value: string }) =>
    `the instance lost the tag ${tag}=${value}; LCM can't terminate the instance until the tag is restored`,
  tags_changed: () => 'the tags of the instance have changed',
  name_tag_differs: ({ tag, name }: { tag: string; name: string }) => `the tag ${tag} of the instance is not "${name}"`,
  name_tag_retry: ({ tag, cause }: { tag: string; cause: NestedReason }) =>
    `${cause.message}; LCM sets the tag ${tag} of the instance again later`,
  endpoint_tag_ignored: ({ tag, value, cause }: { tag: string; value: string; cause: NestedReason }) =>
    `the tag ${tag}=${value} is ignored: ${cause.message}. Correct or remove it`,
  endpoint_malformed: () => 'it is not of the form https://ADDRESS:PORT',
  endpoint_address_foreign: ({ host, instance_id }: { host: string; instance_id: string }) =>
    `EC2 does not report ${host} as an address of ${instance_id}`,
  endpoint_port_invalid: ({ port }: { port: string }) => `${port} is not a port`,
  endpoint_port_of_nodes: ({ first, last }: { port: number; first: number; last: number }) =>
    `ports ${first} to ${last} lead to the nodes of labs`,

  // Trust.
  approval_required: ({ worker_id }: { worker_id: string }) =>
    `${NOT_LAUNCHED}, so it gets no password, no license and no sessions before it is approved: ` +
    `run \`lcm approve worker ${worker_id}\``,
  certificate_changed: ({ worker_id, seen }: { worker_id: string; pinned: string; seen: string }) =>
    `CML shows another certificate than before. If its fingerprint is really ${seen}, ` +
    `run \`lcm repin worker ${worker_id} --fingerprint ${seen}\``,

  // Access to CML, and measurements.
  cml_credentials_missing: (about: CmlRefusalParams) => cmlRefusal('credentials', about),
  cml_login_refused: (about: CmlRefusalParams) => cmlRefusal('login', about),
  cml_telemetry_refused: (about: CmlRefusalParams) => cmlRefusal('telemetry', about),
  cml_telemetry_off: (about: CmlRefusalParams) => cmlRefusal('telemetry_off', about),
  cml_system_stats_refused: (about: CmlRefusalParams) => cmlRefusal('system_stats', about),
  cml_system_health_refused: (about: CmlRefusalParams) => cmlRefusal('system_health', about),
  cml_node_definitions_refused: (about: CmlRefusalParams) => cmlRefusal('node_definitions', about),
  cml_licensing_refused: (about: CmlRefusalParams) => cmlRefusal('licensing', about),
  cml_access_restored: () => 'CML no longer refuses what LCM needs',
  metrics_stale: () => "neither CloudWatch nor CML reports the worker's load",
  metrics_restored: () => "the worker's load is measured again",
}

interface LaunchedInstance {
  readonly instance_id: string
  readonly attempt: number
}
interface LaunchError {
  readonly attempt: number
  readonly error: string
}
interface NoCapacity {
  readonly action: 'launch' | 'start'
  readonly instance_types: readonly string[]
  /** Subnets of a launch; the availability zone of a start. */
  readonly locations: readonly string[]
  readonly aws_code: string | null
  /** How often LCM tries again; null where another offer is tried at once. */
  readonly retry_minutes: number | null
}

function noCapacity({ action, instance_types, locations, aws_code, retry_minutes }: NoCapacity): string {
  const what = `${instance_types.join(', ')} in ${locations.join(', ')}`
  const code = aws_code === null ? '' : ` (${aws_code})`
  const again = retry_minutes === null ? '' : `; LCM tries again every ${retry_minutes} min`
  return action === 'start'
    ? `EC2 has no capacity to start ${what}, where its disk is${code}${again}`
    : `EC2 has no capacity for ${what}${code}${again}`
}

/** Reasons about launches and starts: attempts, missing inputs, capacity, refusals of AWS. */
export const LAUNCH_REASONS = {
  // Attempts.
  launch_attempt: ({
    attempt,
    instance_type,
    subnet_id,
  }: {
    attempt: number
    instance_type: string
    subnet_id: string
  }) => `attempt ${attempt}: ${instance_type} in ${subnet_id}`,
  attempt_not_sent: ({ attempt }: { attempt: number }) => `launch attempt ${attempt} has not been sent yet`,
  launch_attempt_open: ({ attempt }: { attempt: number }) =>
    `launching (attempt ${attempt}): EC2 shows no instance yet`,
  launch_attempt_unresolved: ({ attempt }: { attempt: number }) =>
    `EC2 may still report an instance of launch attempt ${attempt}`,
  launch_attempt_died: ({ instance_id, attempt, state }: LaunchedInstance & { state: string }) =>
    `${instance_id} of attempt ${attempt} is ${state}`,
  launch_attempt_spent: ({ attempt, error }: LaunchError) => `attempt ${attempt} can't launch any more: ${error}`,
  launch_attempt_mismatch: ({ attempt, error }: LaunchError) =>
    `EC2 has already received launch attempt ${attempt} with different parameters: ${error}`,
  launch_attempt_closed: ({ attempt, state, error }: LaunchError & { state: string }) =>
    `attempt ${attempt} was ${state}: ${error}`,
  launch_paused: ({ error }: { attempt: number; error: string | null }) =>
    `pausing before the next attempt: ${error ?? 'the instance of the last one died'}`,
  launch_outcome_unknown: ({ attempt, error }: LaunchError) =>
    `LCM repeats attempt ${attempt}, since it is not known whether it launched an instance: ${error}`,
  instance_launched: ({ instance_id }: { instance_id: string }) => `launched ${instance_id}`,
  launch_token_found: ({ instance_id, attempt }: LaunchedInstance) =>
    `${instance_id} carries the launch token of attempt ${attempt}`,
  launch_token_missing: ({ instance_id, attempt }: LaunchedInstance) =>
    `${instance_id} has the tags of this worker, but not the launch token of attempt ${attempt}`,
  launch_image_differs: ({
    instance_id,
    attempt,
    image_id,
    expected_image_id,
  }: LaunchedInstance & { image_id: string | null; expected_image_id: string }) =>
    `${instance_id} carries the launch token of attempt ${attempt}, but runs ${image_id}, not ${expected_image_id}: LCM did not launch it`,
  nothing_launched: () => 'no instance was launched',
  stopped_before_launch: () => 'the worker was stopped before its launch; start it to launch it',

  // Missing inputs.
  launch_input_missing: ({ cause }: { cause: NestedReason }) => cause.message,
  launch_input_timeout: ({ cause }: { cause: NestedReason }) => `gave up waiting: ${cause.message}`,
  template_not_found: ({ template }: { template: string }) => `template ${template} does not exist`,
  template_disabled: ({ template }: { template: string }) => `template ${template} is disabled`,
  region_not_configured: ({ region }: { region: string }) => `region ${region} is not configured`,
  subnet_not_configured: ({ region }: { region: string }) => `no subnet is configured in ${region}`,
  image_not_found: ({ pattern, owner, region }: { pattern: string; owner: string; region: string }) =>
    `no available image "${pattern}" of owner ${owner} in ${region}`,

  // Capacity and refusals.
  ec2_no_capacity: (about: NoCapacity) => noCapacity(about),
  aws_denies: ({
    action,
    error,
  }: {
    action: 'launch' | 'start'
    error_class: string
    aws_code: string
    error: string
  }) => `AWS denies the ${action} to this account: ${error}`,
  launch_throttled: ({ error }: LaunchError) => `EC2 throttles the launch: ${error}`,
  launch_invalid: ({ error }: { aws_code: string; error: string }) => `EC2 rejects the launch as invalid: ${error}`,
}

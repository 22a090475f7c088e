import type { NestedReason } from './nested-reason.ts'

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

import { reason } from '../../reason.ts'
import { LAUNCH_REASONS } from './launch-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const NO_TEMPLATE = reason('template_not_found', { template: 'metal' })
const LAUNCHED = { instance_id: 'i-1', attempt: 2 }
const ERROR = { attempt: 2, error: 'no' }

const ROWS: readonly MessageRow[] = [
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
]

checkMessages(LAUNCH_REASONS, ROWS)

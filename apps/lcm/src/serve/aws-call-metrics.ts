import type { AwsCall } from '@lcm/cloud-aws/ec2/compute'
import type { Meter } from '@lcm/runtime'

const LABELS = ['action', 'code']

/** Counts and times every attempt of an AWS call, including retries. Pass it to each client as `onCall`. */
export function awsCallMetrics(meter: Meter): (call: AwsCall) => void {
  const calls = meter.counter('aws_calls_total', 'Attempts of AWS calls, by action and result code', LABELS)
  const durations = meter.histogram(
    'aws_call_duration_seconds',
    'Duration of AWS calls, by action and result code',
    LABELS,
  )
  return ({ action, code, ms }) => {
    const labels = { action, code: code ?? 'ok' }
    calls.add(1, labels)
    durations.observe(ms / 1000, labels)
  }
}

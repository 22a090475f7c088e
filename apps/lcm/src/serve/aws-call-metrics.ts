import type { AwsCall } from '@lcm/cloud-aws/ec2/compute'
import type { Meter } from '@lcm/runtime'

const LABELS = ['action', 'code']

/** Counts and times what AWS is asked: every attempt, retries too. Give it to every client as its `onCall`. */
export function awsCallMetrics(meter: Meter): (call: AwsCall) => void {
  const calls = meter.counter('aws_calls_total', 'attempts at calls to AWS, by action and by what AWS said', LABELS)
  const durations = meter.histogram('aws_call_duration_seconds', 'how long AWS took to answer', LABELS)
  return ({ action, code, ms }) => {
    const labels = { action, code: code ?? 'ok' }
    calls.add(1, labels)
    durations.observe(ms / 1000, labels)
  }
}

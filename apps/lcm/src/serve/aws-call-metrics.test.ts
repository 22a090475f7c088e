import type { AwsCall } from '@lcm/cloud-aws/ec2/compute'
import { recordingMeter } from '@lcm/testkit/recording-meter'
import { expect, it } from 'vitest'
import { awsCallMetrics } from './aws-call-metrics.ts'

const aCall = (more: Partial<AwsCall> = {}): AwsCall => ({
  region: 'us-east-1',
  action: 'RunInstances',
  status: 200,
  code: null,
  ms: 1_500,
  ...more,
})

it('counts and times every attempt of a call, by action and result code', () => {
  const meter = recordingMeter()
  const onCall = awsCallMetrics(meter)
  onCall(aCall())
  onCall(aCall({ region: 'eu-west-1', ms: 500 }))
  onCall(aCall({ status: 503, code: 'RequestLimitExceeded', ms: 20 }))
  onCall(aCall({ action: 'GetMetricData' }))
  const ran = { action: 'RunInstances', code: 'ok' }
  expect(meter.value('aws_calls_total', ran)).toBe(2)
  expect(meter.observations('aws_call_duration_seconds', ran)).toEqual([1.5, 0.5])
  const throttled = { action: 'RunInstances', code: 'RequestLimitExceeded' }
  expect(meter.value('aws_calls_total', throttled)).toBe(1)
  expect(meter.observations('aws_call_duration_seconds', throttled)).toEqual([0.02])
  expect(meter.value('aws_calls_total', { action: 'GetMetricData', code: 'ok' })).toBe(1)
})

it('exposes both metrics from the start', () => {
  const meter = recordingMeter()
  awsCallMetrics(meter)
  expect(meter.names()).toEqual(['aws_calls_total', 'aws_call_duration_seconds'])
})

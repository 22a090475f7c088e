import { recordingMeter } from '@lcm/testkit/recording-meter'
import { expect, it } from 'vitest'
import { awsCallMetrics, promMeter } from './metrics.ts'

it('shows instruments from the start and what was measured since', async () => {
  const meter = promMeter()
  const total = meter.counter('things_total', 'Things.', ['result'])
  meter.gauge('depth', 'Depth.').set(3)
  meter.histogram('took_seconds', 'Took.').observe(0.2)
  expect(await meter.text()).toContain('# TYPE things_total counter')
  total.add(2, { result: 'SUCCESS' })
  const text = await meter.text()
  expect(text).toContain('things_total{result="SUCCESS"} 2')
  expect(text).toContain('depth 3')
  expect(text).toContain('took_seconds_bucket{le="0.5"} 1')
})

it('keeps two meters apart', async () => {
  promMeter().counter('things_total', 'Things.').add(5)
  const other = promMeter()
  other.counter('things_total', 'Things.')
  expect(await other.text()).toContain('things_total 0')
})

const aCall = (more: { action?: string; code?: string; ms?: number } = {}) => ({
  action: 'RunInstances',
  code: null,
  ms: 1_500,
  ...more,
})

it('counts and times every attempt of a call, by action and result code', () => {
  const meter = recordingMeter()
  const onCall = awsCallMetrics(meter)
  onCall(aCall())
  onCall(aCall({ ms: 500 }))
  onCall(aCall({ code: 'RequestLimitExceeded', ms: 20 }))
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

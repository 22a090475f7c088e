import { recordingMeter } from '@lcm/testkit/recording-meter'
import { runningLoop } from '@lcm/testkit/running-loop'
import { expect, it } from 'vitest'
import { loopMetrics } from './loop-metrics.ts'
import { requeue, retry, skip, success } from './result.ts'

it('registers every instrument under its prefix before anything happens, counters at zero', () => {
  const meter = recordingMeter()
  loopMetrics(meter, 'worker_controller')
  expect([...meter.names()].sort()).toEqual(
    [
      'active_reconciles',
      'event_to_reconcile_seconds',
      'leader',
      'leader_term',
      'queue_depth',
      'queue_oldest_age_seconds',
      'reconcile_duration_seconds',
      'reconcile_total',
      'resources_pending',
      'retries_total',
      'watch_age_seconds',
      'watch_degraded',
      'watch_events_total',
    ].map(name => `worker_controller_${name}`),
  )
  expect(meter.value('worker_controller_reconcile_total', { result: 'success' })).toBe(0)
})

it('has every gauge at zero from the start', () => {
  const { meter } = runningLoop()
  const gauges = ['active_reconciles', 'resources_pending', 'queue_depth', 'leader', 'leader_term', 'watch_age_seconds']
  expect(gauges.map(name => meter.value(`reconciliation_${name}`))).toEqual(gauges.map(() => 0))
})

it('counts reconciles by result, and retries', async () => {
  const { clock, hands, meter } = runningLoop({
    reconcile: async key => {
      if (key === 'error') throw new Error('boom')
      return { success: success(), requeue: requeue('', 9e9), skip: skip('') }[key] ?? retry('no')
    },
  })
  const results = ['success', 'requeue', 'skip', 'retry', 'error']
  for (const key of results) hands.add(key, 'test')
  await clock.advance(0)
  expect(results.map(result => meter.value('reconciliation_reconcile_total', { result }))).toEqual([1, 1, 1, 1, 1])
  expect(meter.value('reconciliation_retries_total')).toBe(2)
})

it('measures how long reconciles take and how long news waited for them, the debounce included', async () => {
  const { clock, hands, meter } = runningLoop({
    reconcile: async () => {
      await clock.sleep(250)
      return success()
    },
  })
  hands.add('w-0', 'test')
  await clock.advance(5_000)
  hands.add('w-1', 'test', { afterMs: 500 })
  hands.openListing('poll').offer('w-2', undefined)
  await clock.advance(1_000)
  expect(meter.observations('reconciliation_reconcile_duration_seconds')).toEqual([0.25, 0.25, 0.25])
  expect(meter.observations('reconciliation_event_to_reconcile_seconds')).toEqual([0, 0.5])
})

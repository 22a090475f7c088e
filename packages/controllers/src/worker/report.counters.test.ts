import { recordingMeter } from '@lcm/testkit/recording-meter'
import { expect, it } from 'vitest'
import { workerCounters } from './report.ts'

const ELEVEN = [
  'provisioned_count',
  'started_count',
  'stopped_count',
  'terminated_count',
  'metrics_collected_count',
  'idle_detection_count',
  'auto_pause_count',
  'license_registered_count',
  'license_deregistered_count',
  'scale_down_drain_count',
  'running_worker_count',
]

it('the eleven counters start at zero', () => {
  const all = workerCounters(recordingMeter()).snapshot(0)
  expect(Object.keys(all)).toEqual(ELEVEN)
  expect(Object.values(all)).toEqual(ELEVEN.map(() => 0))
})

it('each is counted once, in the statistics and for Prometheus', () => {
  const meter = recordingMeter()
  const counting = workerCounters(meter)
  counting.add('started')
  counting.add('started')
  counting.add('metrics_collected')
  expect(counting.snapshot(7)).toMatchObject({
    started_count: 2,
    metrics_collected_count: 1,
    stopped_count: 0,
    running_worker_count: 7,
  })
  expect(meter.value('worker_controller_started_total')).toBe(2)
  expect(meter.value('worker_controller_metrics_collected_total')).toBe(1)
  expect(meter.value('worker_controller_running_workers')).toBe(7)
  expect(meter.names()).toHaveLength(ELEVEN.length)
})

import { expect, it } from 'vitest'
import { leastOfEachMinute, vitalsFrom } from './process-vitals.ts'

it('reads the vitals of a process from its metrics', () => {
  const text = [
    '# TYPE process_resident_memory_bytes gauge',
    'process_resident_memory_bytes 123456789',
    'nodejs_heap_size_used_bytes 5.5e7',
    'nodejs_active_handles_total 12',
    'nodejs_active_handles{type="Socket"} 7',
    'nodejs_eventloop_lag_p99_seconds 0.0125',
    'nodejs_eventloop_lag_max_seconds 0.25',
  ].join('\n')
  expect(vitalsFrom(text, 1.234)).toEqual({
    minute: 1.23,
    rssMb: 123.46,
    heapMb: 55,
    handles: 12,
    loopP99Ms: 12.5,
    loopMaxMs: 250,
  })
})

it('keeps the minimum of each minute with its time', () => {
  const points = [[0.2, 9] as const, [0.4, 5] as const, [0.9, 7] as const, [1.1, 8] as const]
  expect(leastOfEachMinute(points)).toEqual([
    [0.4, 5],
    [1.1, 8],
  ])
})

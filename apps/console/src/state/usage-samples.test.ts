import { expect, it } from 'vitest'
import { type Sample, usageSamples } from './usage-samples.ts'

const sampleAt = (minute: number) =>
  ({
    collected_at: `2026-01-02T03:${String(minute).padStart(2, '0')}:00.000Z`,
    cpu_utilization: minute + 0.4,
    memory_utilization: null,
  }) as Sample

const batchAt = (minute: number) => [{ worker_id: 'w-1', sample: sampleAt(minute) }]

it('keeps the newest 60 samples of a worker in order, each once', () => {
  const held = usageSamples()
  for (let minute = 0; minute < 60; minute++) held.add(batchAt(minute))
  held.add(batchAt(59))
  held.add(batchAt(3))
  expect(held.of('w-1').cpu).toEqual(Array.from({ length: 60 }, (_, n) => n))
  held.add([{ worker_id: 'w-1', sample: { ...sampleAt(0), collected_at: '2026-01-02T04:00:00.000Z' } }])
  expect(held.of('w-1').cpu).toHaveLength(60)
  expect(held.of('w-1').cpu[0]).toBe(1)
})

it('leaves a gap where nothing was measured', () => {
  const held = usageSamples()
  held.add(batchAt(1))
  expect(held.of('w-1').memory).toEqual([null])
})

it('forgets a deleted worker', () => {
  const held = usageSamples()
  held.add(batchAt(1))
  held.forget('w-1')
  expect(held.of('w-1').cpu).toEqual([])
})

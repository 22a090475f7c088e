import { expect, it } from 'vitest'
import { recordingMeter } from './recording-meter.ts'

it('records counters, gauges and observations by series', () => {
  const meter = recordingMeter()
  const counter = meter.counter('c', '', ['result'])
  counter.add()
  counter.add(2, { result: 'ok' })
  counter.add(3, { result: 'ok' })
  meter.gauge('g', '').set(7)
  meter.histogram('h', '').observe(0.5)
  expect([meter.value('c'), meter.value('c', { result: 'ok' }), meter.value('g')]).toEqual([1, 5, 7])
  expect([meter.observations('h'), meter.observations('other')]).toEqual([[0.5], []])
  expect(meter.value('unknown')).toBeUndefined()
})

it('rejects a duplicate name', () => {
  const meter = recordingMeter()
  meter.gauge('g', '')
  expect(() => meter.counter('g', '')).toThrow('g is registered twice')
  expect(() => meter.histogram('g', '')).toThrow('g is registered twice')
})

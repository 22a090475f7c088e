import { expect, it } from 'vitest'
import { promMeter } from './prom-meter.ts'

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

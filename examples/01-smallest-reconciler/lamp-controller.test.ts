import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { type Lamp, lampController } from './lamp-controller.ts'

it('switches a lamp to its desired state', async () => {
  const clock = manualClock()
  const lamps = new Map<string, Lamp>([['hall', { id: 'hall', isDesiredOn: true, isOn: false }]])
  const stop = new AbortController()
  const over = lampController(lamps, clock).run(stop.signal)
  await clock.advance(0)
  expect(lamps.get('hall')?.isOn).toBe(true)
  lamps.set('hall', { id: 'hall', isDesiredOn: false, isOn: true })
  await clock.advance(1_000)
  expect(lamps.get('hall')?.isOn).toBe(false)
  stop.abort()
  await over
})

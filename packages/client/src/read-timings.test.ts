import { timingId } from '@lcm/domain/calendar/timings'
import { toInstant } from '@lcm/domain/instant'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { aDefinition } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { readTimings } from './read-timings.ts'

const AUTO = { boot_lead_minutes: 'auto' } as const

it('reads the measured durations, and uses defaults for all others', async () => {
  const plane = aControlPlane()
  const at = toInstant(plane.clock.now())
  const stamps = { version: 1, created_at: at, updated_at: at }
  const recent_ms = new Array<number>(20).fill(90_000)
  await plane.put('timings', { ...stamps, id: timingId.lab('bgp'), recent_ms })
  const timings = await readTimings(plane.client('lablet-controller'), new AbortController().signal)
  expect(timings.leadMs(aDefinition({ name: 'bgp' }), AUTO)).toBe(120_000)
  expect(timings.leadMs(aDefinition({ name: 'ospf' }), AUTO)).toBe(420_000)
})

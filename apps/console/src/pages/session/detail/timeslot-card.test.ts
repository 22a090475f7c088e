import { timingsOf } from '@lcm/domain/calendar/timings'
import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { leadOf, slotScale } from './timeslot-card.tsx'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-01-02T03:04:05.000Z')
const basis = { timings: timingsOf([]), settings: { boot_lead_minutes: 20 } }

it('draws lead and slot to scale', () => {
  expect(slotScale(aSession(), 20 * MINUTE_MS, START_MS + 20 * MINUTE_MS)).toEqual({
    leadMs: 20 * MINUTE_MS,
    slotLeft: 0.25,
    passed: 0.25,
    now: 0.5,
  })
  expect(slotScale(aSession(), 0, START_MS - 1).now).toBe(null)
  expect(slotScale(aSession(), 0, START_MS + 61 * MINUTE_MS).now).toBe(null)
})

it('is full once its slot is over, and partly full when it ended early', () => {
  const passed = (session: LabletSession, minutes: number) =>
    slotScale(session, 20 * MINUTE_MS, START_MS + minutes * MINUTE_MS).passed
  expect(passed(aSession({ status: 'STOPPING' }), 61)).toBe(0.75)
  const endedAfter = (minutes: number) =>
    aSession({ status: 'TERMINATED', entered_status_at: toInstant(START_MS + minutes * MINUTE_MS) })
  expect(passed(endedAfter(62), 999)).toBe(0.75)
  expect(passed(endedAfter(20), 40)).toBe(0.25)
  expect(passed(endedAfter(-90), -80)).toBe(0)
})

it('has no lead before it was booked', () => {
  expect(leadOf(aSession(), aDefinition(), basis)).toBe(0)
  const ahead = aSession({ created_at: '2026-01-01T00:00:00.000Z' })
  expect(leadOf(ahead, undefined, basis)).toBe(0)
  expect(leadOf(ahead, aDefinition(), basis)).toBe(20 * MINUTE_MS)
  expect(leadOf(ahead, aDefinition({ boot_lead_minutes: 5 }), basis)).toBe(5 * MINUTE_MS)
})

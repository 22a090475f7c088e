import { timingsOf } from '@lcm/domain/calendar/timings'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingInput } from '@lcm/domain/session/scheduling-types'
import { expect, it } from 'vitest'
import { planMemory } from './plan-memory.ts'
import { NOW_MS } from './testing/scheduling-fixtures.ts'

const INPUT: SchedulingInput = {
  ...{ sessions: [], workers: [], templates: [], definitions: new Map(), leaving: new Map() },
  ...{ settings: SETTING_DEFAULTS, timings: timingsOf([]), region: 'us-east-1', previous: null, nowMs: NOW_MS },
}

it('plans again when a seat of a license pool becomes free', () => {
  const memory = planMemory()
  const seats = (free: number): SchedulingInput => ({ ...INPUT, licenses: new Map([['CML_Enterprise', free]]) })
  memory.planned(seats(0), { ...schedule(seats(0)), reasons: new Map(), isSettled: true })
  expect(memory.planFor(seats(0))).not.toBe(null)
  expect(memory.planFor(seats(1))).toBe(null)
})

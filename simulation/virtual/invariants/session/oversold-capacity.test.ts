import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { METAL } from '../../world/control-plane.ts'
import { HOUR_MS } from '../../world/durations.ts'
import { settingsHistory } from '../settings-history.ts'
import { oversoldCapacity } from './oversold-capacity.ts'

const clock = manualClock()
const hour = (n: number) => toInstant(clock.now() + n * HOUR_MS)
const NEEDS = { cpu_cores: 4, memory_gb: 2, storage_gb: 4, node_count: 4 }

/** A session of four nodes. Five nodes run on a machine without a license. */
const promised = (id: string, from: number, until: number, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({
    ...{ id, needs: NEEDS, created_at: hour(0), timeslot: { start: hour(from), end: hour(until) } },
    admission: { kind: 'admitted', at_risk: null, number: 1, machine: 'new-1', ...span(from, until) },
    ...more,
  })
const span = (from: number, until: number) => ({ span: { from: hour(from), until: hour(until) } })

function judge(session: LabletSession, others: readonly LabletSession[], before?: LabletSession): string[] {
  const settings = settingsHistory(() => clock.now() - 24 * HOUR_MS)
  settings.record({ max_workers_per_region: 2 })('accepted')
  const sessions = new Map(others.map(each => [each.id, each]))
  return oversoldCapacity(session, before, { sessions, workers: new Map(), templates: [METAL], settings, clock })
}

const TWO = [promised('ls-1', 1, 2), promised('ls-2', 1, 3)]

it('finds a promise of more than all machines hold at any moment', () => {
  expect(judge(promised('ls-3', 2, 4), TWO)).toEqual([])
  expect(judge(promised('ls-3', 1, 4), TWO)).toEqual([
    `ls-3 is promised capacity at ${hour(1)}, when 3 sessions need 12 of 10 node_count`,
  ])
})

it('finds labs that need a machine each, though the machines hold their sum', () => {
  const small = { ...NEEDS, node_count: 3 }
  const three = [...TWO, promised('ls-3', 1, 2)].map(each => ({ ...each, needs: small }))
  expect(judge(three[2] as LabletSession, three.slice(0, 2))).toEqual([
    `ls-3 is promised capacity at ${hour(1)}, when 3 sessions need a machine each of 2, by node_count`,
  ])
})

it('judges an extension, and nothing else that changes later', () => {
  const before = promised('ls-3', 3, 4)
  const extended = promised('ls-3', 3, 6)
  const later = [promised('ls-4', 5, 6), promised('ls-5', 5, 6)]
  expect(judge(extended, later, before)).toEqual([expect.stringMatching(/^ls-3 is promised capacity at .*, when 3/)])
  expect(judge(extended, later, extended)).toEqual([])
})

it('counts neither canceled sessions nor those without a promise', () => {
  const canceled = TWO.map(each => ({ ...each, desired_status: 'TERMINATED' as const }))
  const bestEffort = TWO.map(each => ({ ...each, admission: { ...each.admission, kind: 'best_effort' as const } }))
  expect(judge(promised('ls-3', 1, 4), canceled)).toEqual([])
  expect(judge(promised('ls-3', 1, 4), bestEffort)).toEqual([])
})

it('finds a promise that does not cover its timeslot', () => {
  const short = promised('ls-1', 1, 4)
  expect(judge({ ...short, admission: { ...short.admission, ...span(1, 3) } }, [])).toEqual([
    `ls-1 is promised capacity from ${hour(1)} until ${hour(3)}, and lasts from ${hour(1)} until ${hour(4)}`,
  ])
  const late = { ...short, admission: { ...short.admission, ...span(2, 4) } }
  expect(judge(late, [])).toHaveLength(1)
  // Booked after the start of its timeslot.
  expect(toMs(hour(2))).toBeGreaterThan(toMs(hour(1)))
  expect(judge({ ...late, created_at: hour(2) }, [])).toEqual([])
})

import { toInstant } from '@lcm/domain/instant'
import { describe, expect, it } from 'vitest'
import { daysOf, loadSeries, shareAt, shownMachines, usesOf } from './forecast-charts.ts'

const HOUR_MS = 3_600_000
const within = { at: toInstant(0), until: toInstant(24 * HOUR_MS) }

const machine = (key: string, sessions: readonly [number, number][], awake: readonly [number, number][]) => ({
  key,
  name: key,
  worker_id: null,
  template_name: 'metal',
  usd_per_hour: 4,
  disk_usd_per_hour: 0,
  sessions: sessions.map(([fromMs, untilMs], n) => ({ session_id: `${key}-${n}`, fromMs, untilMs })),
  awake: awake.map(([fromMs, untilMs]) => ({ fromMs, servesMs: fromMs, untilMs })),
  marks: [],
  exists: { fromMs: 0, untilMs: 100 },
})

describe('the series of the charts', () => {
  it('hold each value until it changes, up to the end', () => {
    const load = [
      { atMs: 0, sessions: 0, machines: 1 },
      { atMs: 10, sessions: 2, machines: 3 },
    ]
    const fewest = [
      { from: 5, until: 10, machines: 1 },
      { from: 20, until: 30, machines: 2 },
    ]
    expect(loadSeries({ load, fewest, until: toInstant(40) })).toEqual({
      atMs: [0, 5, 10, 20, 30, 40],
      machines: [1, 1, 3, 3, 3, 3],
      sessions: [0, 0, 2, 2, 2, 2],
      fewest: [0, 1, 0, 2, 0, 0],
    })
  })
})

describe('the timeline of machines', () => {
  it('joins sessions that follow each other and counts them', () => {
    const used = machine(
      'a',
      [
        [10, 20],
        [15, 30],
        [50, 60],
      ],
      [],
    )
    expect(usesOf(used)).toEqual([
      { fromMs: 10, untilMs: 30, sessions: 2 },
      { fromMs: 50, untilMs: 60, sessions: 1 },
    ])
  })

  it('has machines that run, by their first session, and those without sessions last', () => {
    const idle = machine('idle', [], [[0, 10]])
    const later = machine('later', [[50, 60]], [[40, 60]])
    const first = machine('first', [[10, 20]], [[5, 20]])
    expect(shownMachines([idle, later, machine('stopped', [], []), first]).map(({ key }) => key)).toEqual([
      'first',
      'later',
      'idle',
    ])
  })

  it('places times and the starts of days', () => {
    expect([-5, 6, 30].map(hours => shareAt(hours * HOUR_MS, within))).toEqual([0, 0.25, 1])
    expect(daysOf({ ...within, until: toInstant(60 * HOUR_MS) }).length).toBeGreaterThanOrEqual(2)
  })
})

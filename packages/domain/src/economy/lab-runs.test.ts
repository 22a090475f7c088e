import { describe, expect, it } from 'vitest'
import { type Instant, toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { SessionStatus } from '../session/lablet-session.ts'
import { labRunsOf } from './lab-runs.ts'

const DAY = '2026-01-05T'
const at = (time: string): Instant => toInstant(toMs(`${DAY}${time}:00.000Z`))
const needs = { cpu_cores: 4, memory_gb: 8, storage_gb: 10, node_count: 2 }

/** A session from 9:00 to 10:00 with these statuses. */
const session = (...moves: readonly [SessionStatus, string][]) => ({
  needs,
  timeslot: { start: at('09:00'), end: at('10:00') },
  state_history: moves.map(([to, time], n) => ({
    from: moves[n - 1]?.[0] ?? null,
    to,
    at: at(time),
    because: reason('timeslot_started'),
  })),
})

const runs = (now: string, ...moves: readonly [SessionStatus, string][]) =>
  labRunsOf(session(...moves), at(now)).map(({ from_ms, until_ms }) =>
    [from_ms, until_ms].map(ms => toInstant(ms).slice(11, 16)),
  )

describe('the labs of a session', () => {
  it('are none before its lab starts, and without a lab', () => {
    expect(runs('09:00', ['PENDING', '08:00'], ['SCHEDULED', '08:30'])).toEqual([])
    expect(runs('12:00', ['PENDING', '08:00'], ['EXPIRED', '10:00'], ['TERMINATED', '10:01'])).toEqual([])
  })

  it('run from as late as they could have started until they are removed', () => {
    const moves: [SessionStatus, string][] = [
      ['SCHEDULED', '08:30'],
      ['INSTANTIATING', '08:50'],
      ['READY', '08:54'],
      ['RUNNING', '09:00'],
      ['EXPIRED', '10:00'],
      ['STOPPING', '10:00'],
    ]
    expect(runs('12:00', ...moves, ['STOPPED', '10:02'], ['ARCHIVED', '10:03'])).toEqual([['08:56', '10:02']])
    expect(runs('10:01', ...moves)).toEqual([['08:56', '10:01']])
  })

  it('run from their start if they were READY after the slot began', () => {
    expect(runs('12:00', ['INSTANTIATING', '09:10'], ['READY', '09:15'], ['STOPPED', '10:02'])).toEqual([
      ['09:10', '10:02'],
    ])
  })

  it('don’t count if they were canceled before the slot', () => {
    expect(
      runs('12:00', ['INSTANTIATING', '08:50'], ['READY', '08:54'], ['STOPPING', '08:57'], ['STOPPED', '08:58']),
    ).toEqual([])
  })

  it('are two after a move to another worker', () => {
    expect(
      runs('09:40', ['INSTANTIATING', '08:50'], ['READY', '09:00'], ['PENDING', '09:20'], ['INSTANTIATING', '09:30']),
    ).toEqual([
      ['08:50', '09:20'],
      ['09:30', '09:40'],
    ])
  })
})

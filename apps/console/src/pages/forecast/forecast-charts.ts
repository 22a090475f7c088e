import type { Forecast } from '@lcm/domain/forecast/forecast'
import { joined, type MachineUse } from '@lcm/domain/forecast/machine-use'
import { toMs } from '@lcm/domain/instant'

/** Values from each moment on, for a chart with steps. */
export interface LoadSeries {
  readonly atMs: readonly number[]
  readonly machines: readonly number[]
  readonly fewest: readonly number[]
  readonly sessions: readonly number[]
}

export function loadSeries({ load, fewest, until }: Pick<Forecast, 'load' | 'fewest' | 'until'>): LoadSeries {
  const endMs = toMs(until)
  const moments = new Set([...load.map(({ atMs }) => atMs), ...fewest.flatMap(each => [each.from, each.until]), endMs])
  const atMs = [...moments].filter(ms => ms <= endMs).sort((a, b) => a - b)
  const points = stepped(atMs, load, ({ atMs: from }) => from)
  const least = stepped(atMs, fewest, ({ from }) => from)
  return {
    atMs,
    machines: points.map(point => point?.machines ?? 0),
    sessions: points.map(point => point?.sessions ?? 0),
    fewest: least.map((point, at) => (point !== null && (atMs[at] ?? 0) < point.until ? point.machines : 0)),
  }
}

/** For each moment, the last point that has begun. */
function stepped<T>(atMs: readonly number[], points: readonly T[], startOf: (point: T) => number): (T | null)[] {
  let at = -1
  return atMs.map(ms => {
    for (let next = points[at + 1]; next !== undefined && startOf(next) <= ms; next = points[at + 1]) at += 1
    return points[at] ?? null
  })
}

export interface Use {
  readonly fromMs: number
  readonly untilMs: number
  readonly sessions: number
}

/** The times in which a machine has sessions, with how many there are in each. */
export const usesOf = ({ sessions }: MachineUse): Use[] =>
  joined(sessions).map(({ fromMs, untilMs }) => ({
    fromMs,
    untilMs,
    sessions: sessions.filter(each => each.fromMs < untilMs && each.untilMs > fromMs).length,
  }))

/** Machines with sessions first, by their first use, then those that only cost money. */
export const shownMachines = (machines: readonly MachineUse[]): MachineUse[] => {
  const firstMs = ({ sessions }: MachineUse) => sessions[0]?.fromMs ?? Number.MAX_SAFE_INTEGER
  return machines.filter(({ awake }) => awake.length > 0).toSorted((a, b) => firstMs(a) - firstMs(b))
}

/** Position within the forecast: 0 at its start, 1 at its end. */
export const shareAt = (ms: number, { at, until }: Pick<Forecast, 'at' | 'until'>): number =>
  Math.min(1, Math.max(0, (ms - toMs(at)) / (toMs(until) - toMs(at))))

/** The starts of days in the browser's time zone. */
export function daysOf({ at, until }: Pick<Forecast, 'at' | 'until'>): number[] {
  const days: number[] = []
  const day = new Date(toMs(at))
  day.setHours(0, 0, 0, 0)
  for (day.setDate(day.getDate() + 1); day.getTime() < toMs(until); day.setDate(day.getDate() + 1))
    days.push(day.getTime())
  return days
}

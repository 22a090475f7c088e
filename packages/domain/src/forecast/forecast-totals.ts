import type { Span } from '../calendar/span.ts'
import { clipped, commonMs, joined, lengthMs, type MachineUse } from './machine-use.ts'

const HOUR_MS = 3_600_000

export const FORECAST_CAUSES = ['session', 'boot', 'idle', 'disk'] as const
export type ForecastCause = (typeof FORECAST_CAUSES)[number]

export interface ForecastTotals {
  /** With disks. */
  readonly usd: number
  readonly by_cause: Readonly<Record<ForecastCause, number>>
  /** Of machines that are billed. */
  readonly hours: number
  readonly boots: number
  /** Machines that are billed at some time. */
  readonly machines: number
}

/** What machines cost within a time, by cause as the bill of the past counts them. */
export function totalsOf(machines: readonly MachineUse[], within: Span): ForecastTotals {
  const by_cause = { session: 0, boot: 0, idle: 0, disk: 0 }
  let [hours, boots] = [0, 0]
  for (const machine of machines) {
    const ms = timesOf(machine, within)
    const usd = (billedMs: number) => (billedMs / HOUR_MS) * machine.usd_per_hour
    by_cause.session += usd(ms.session)
    by_cause.boot += usd(ms.boot)
    by_cause.idle += usd(ms.awake - ms.session - ms.boot)
    by_cause.disk += (lengthMs(clipped(machine.exists, within)) * machine.disk_usd_per_hour) / HOUR_MS
    hours += ms.awake / HOUR_MS
    boots += machine.marks.filter(({ kind }) => kind === 'wake' || kind === 'buy').length
  }
  const { session, boot, idle, disk } = by_cause
  const used = machines.filter(({ awake }) => awake.length > 0).length
  return { usd: session + boot + idle + disk, by_cause, hours, boots, machines: used }
}

function timesOf({ awake, sessions }: MachineUse, within: Span): { awake: number; boot: number; session: number } {
  const billed = awake.map(time => clipped(time, within))
  const booting = awake.map(({ fromMs, servesMs, untilMs }) =>
    clipped({ fromMs, untilMs: Math.min(servesMs, untilMs) }, within),
  )
  const serving = awake.map(({ fromMs, servesMs, untilMs }) =>
    clipped({ fromMs: Math.max(fromMs, servesMs), untilMs }, within),
  )
  const sum = (spans: readonly Span[]) => spans.reduce((total, span) => total + lengthMs(span), 0)
  return { awake: sum(billed), boot: sum(booting), session: commonMs(serving, joined(sessions)) }
}

export interface LoadPoint {
  readonly atMs: number
  /** Sessions whose lab is there, or has to be. */
  readonly sessions: number
  /** Machines that are billed. */
  readonly machines: number
}

/** How many sessions and machines there are from each change on. */
export function loadOverTime(sessions: readonly Span[], machines: readonly MachineUse[], within: Span): LoadPoint[] {
  const changes = [
    ...sessions.flatMap(span => changesOf(span, within, 1, 0)),
    ...machines.flatMap(({ awake }) => awake.flatMap(time => changesOf(time, within, 0, 1))),
  ].sort((a, b) => a.atMs - b.atMs)
  const points: LoadPoint[] = [{ atMs: within.fromMs, sessions: 0, machines: 0 }]
  for (const change of changes) {
    const last = points.at(-1) ?? { sessions: 0, machines: 0 }
    const point = {
      atMs: change.atMs,
      sessions: last.sessions + change.sessions,
      machines: last.machines + change.machines,
    }
    if (points.at(-1)?.atMs === change.atMs) points.pop()
    points.push(point)
  }
  return points
}

function changesOf(span: Span, within: Span, sessions: number, machines: number): LoadPoint[] {
  const { fromMs, untilMs } = clipped(span, within)
  if (untilMs <= fromMs) return []
  const end = untilMs < within.untilMs ? [{ atMs: untilMs, sessions: -sessions, machines: -machines }] : []
  return [{ atMs: fromMs, sessions, machines }, ...end]
}

/** The first of the highest points; null if the value is 0 throughout. */
export function peakOf(points: readonly LoadPoint[], value: 'sessions' | 'machines'): LoadPoint | null {
  let peak: LoadPoint | null = null
  for (const point of points) if (point[value] > (peak?.[value] ?? 0)) peak = point
  return peak
}

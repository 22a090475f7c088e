import type { Span } from '../calendar/span.ts'

/** One time in which a machine is billed: from its start until it is stopped. */
export interface AwakeTime {
  readonly fromMs: number
  /** When its CML serves: by the mean of its template's boots. Before `fromMs` if it serves already. */
  readonly servesMs: number
  readonly untilMs: number
}

/** What happens to a machine. */
export interface MachineMark {
  readonly kind: 'wake' | 'buy' | 'stop' | 'terminate'
  readonly atMs: number
}

export interface BookedSpan extends Span {
  readonly session_id: string
}

/** A machine of the forecast: a worker, or one that will be bought. */
export interface MachineUse {
  readonly key: string
  readonly name: string
  readonly worker_id: string | null
  readonly template_name: string
  readonly usd_per_hour: number
  readonly disk_usd_per_hour: number
  /** By start. */
  readonly sessions: readonly BookedSpan[]
  /** By start, without overlaps. */
  readonly awake: readonly AwakeTime[]
  readonly marks: readonly MachineMark[]
  /** While it has a disk. */
  readonly exists: Span
}

/** The times in use, joined where they touch. */
export function joined(spans: readonly Span[]): Span[] {
  const all: { fromMs: number; untilMs: number }[] = []
  for (const { fromMs, untilMs } of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = all.at(-1)
    if (untilMs <= fromMs) continue
    if (last !== undefined && fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, untilMs)
    else all.push({ fromMs, untilMs })
  }
  return all
}

export const clipped = ({ fromMs, untilMs }: Span, within: Span): Span => ({
  fromMs: Math.max(fromMs, within.fromMs),
  untilMs: Math.min(untilMs, within.untilMs),
})

export const lengthMs = ({ fromMs, untilMs }: Span): number => Math.max(0, untilMs - fromMs)

/** How long both lists are in progress at once. */
export const commonMs = (a: readonly Span[], b: readonly Span[]): number =>
  a.reduce((sum, span) => sum + b.reduce((part, other) => part + lengthMs(clipped(span, other)), 0), 0)

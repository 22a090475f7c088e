import type { Clock } from '@lcm/runtime/clock'

/** Faults of LCM and its connections, or manual changes of machines and CML servers. */
export type DisturbanceKind = 'fault' | 'manual'

/** How long nothing has disturbed the run: rules may then expect more of LCM than during a storm. */
export interface Disturbances {
  note(kind: DisturbanceKind, lastsMs: number): void
  /** The end of the latest disturbance of these kinds, which may be in the future; null without any. */
  endedMs(...kinds: readonly DisturbanceKind[]): number | null
  /** Whether one of this kind happened or lasted between the two times. */
  happened(kind: DisturbanceKind, fromMs: number, toMs: number): boolean
}

export function disturbances(clock: Pick<Clock, 'now'>): Disturbances {
  const ended = new Map<DisturbanceKind, number>()
  const spans: { kind: DisturbanceKind; fromMs: number; untilMs: number }[] = []
  return {
    note(kind, lastsMs) {
      const fromMs = clock.now()
      ended.set(kind, Math.max(ended.get(kind) ?? 0, fromMs + lastsMs))
      spans.push({ kind, fromMs, untilMs: fromMs + lastsMs })
    },
    endedMs: (...kinds) => kinds.reduce<number | null>((last, kind) => later(last, ended.get(kind) ?? null), null),
    happened: (kind, fromMs, toMs) =>
      spans.some(span => span.kind === kind && span.fromMs <= toMs && span.untilMs >= fromMs),
  }
}

const later = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other)

import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'

/** What the API takes; a cloud's own words may be longer. */
export const BECAUSE_CHARS_MAX = 1000

export interface Planned {
  readonly action: string
  readonly because: string
  /** From now; null when there is nothing to do. */
  readonly afterMs: number | null
}

/** What the last look at each session and lab found, for those who ask this instance. */
export interface WorkBoard {
  looked(resource: `session:${string}` | `lab_record:${string}` | `definition:${string}`, planned: Planned): void
  forget(resource: string): void
  /** What one term saw is neither shown after it nor in the next. */
  clear(): void
  plan(): readonly PlannedAction[]
  count(kind: 'session' | 'lab_record'): number
}

export function workBoard({ clock }: { clock: Clock }): WorkBoard {
  const looks = new Map<string, PlannedAction | null>()
  return {
    looked(resource, { action, because, afterMs }) {
      const due = afterMs === null ? null : toInstant(clock.now() + afterMs)
      const planned = { resource, action, because: because.slice(0, BECAUSE_CHARS_MAX), due_at: due }
      looks.set(resource, due === null ? null : planned)
    },
    forget: resource => void looks.delete(resource),
    clear: () => looks.clear(),
    plan: () => [...looks.values()].filter(planned => planned !== null),
    count: kind => [...looks.keys()].filter(resource => resource.startsWith(`${kind}:`)).length,
  }
}

import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { silentLogger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { outages } from '../kit/dependency-outages.ts'

/** Detects that the CML of most workers is unreachable: a fault of the network or of LCM rather than of one server. */
export interface CmlOutages {
  heard(workerId: string, answered: boolean): void
  forget(workerId: string): void
  /** At most one, about running workers. */
  problems(runningIds: readonly string[]): readonly Reason[]
}

export function cmlOutages(clock: Clock): CmlOutages {
  // A single silent CML is shown on its worker, not in the log.
  const silent = outages({ clock, logger: silentLogger })
  return {
    heard(workerId, answered) {
      if (answered) silent.answered(workerId)
      else silent.failed(workerId, 'no answer')
    },
    forget: silent.forget,
    problems(runningIds) {
      const since = runningIds.flatMap(id => silent.problemSince(id) ?? [])
      if (since.length * 2 <= runningIds.length) return []
      const began = toInstant(Math.min(...since))
      return [reason('cml_outage', { silent: since.length, running: runningIds.length, since: began })]
    },
  }
}

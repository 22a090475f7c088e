import type { CmlLab } from '@lcm/cloud-sim/cml/labs/lab'
import type { Clock } from '@lcm/runtime/clock'
import { MINUTE_MS } from '../../world/durations.ts'
import type { LabTruth } from './lab-truth.ts'

const WITHIN_MS = 10 * MINUTE_MS
/** Nodes that crash together look like nodes of a machine that was rebooted, once in every sample. The rest is for its owner. */
const STARTS_MAX = 12

/** A lab that stops again and again is not started in a tight loop: not much more often than once a minute. */
export function labStarts(clock: Pick<Clock, 'now'>) {
  const startedMs = new Map<string, number[]>()
  return (session: string, lab: CmlLab, { isLabUp }: LabTruth): string[] => {
    // A repeated request has no effect.
    if (isLabUp) return []
    const sinceMs = clock.now() - WITHIN_MS
    const starts = [...(startedMs.get(lab.id) ?? []).filter(ms => ms > sinceMs), clock.now()]
    startedMs.set(lab.id, starts)
    return starts.length > STARTS_MAX ? [`the lab of ${session} was started ${starts.length} times in 10 min`] : []
  }
}

import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isDue, schedule } from '@lcm/domain/session/scheduling'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ReconcileContext, type ReconciliationResult, requeue, retry, success } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { ResourceSchedulerConfig } from './config.ts'
import type { DefinitionCache } from './known-definitions.ts'
import { unassignLostWorkers } from './lost-workers.ts'
import { type Demand, readDemand, readSupply } from './observe.ts'
import { type PerformParts, performSteps } from './perform.ts'
import { type CycleReport, cycleReport } from './report.ts'

export interface CycleParts extends PerformParts {
  readonly clock: Clock
  readonly config: ResourceSchedulerConfig
  readonly definitions: DefinitionCache
  /** Workers that a person holds stopped, each with the version at which that was said. */
  readonly held: Map<string, number>
}

/** Looks at all that waits, decides once for all of it, and does it. One that finds nothing to do writes nothing. */
export async function cycle(parts: CycleParts, context: ReconcileContext): Promise<ReconciliationResult> {
  const { clock, board, counters, config } = parts
  const startedMs = clock.monotonic()
  const turn = cycleReport(parts, context, () => Math.round(clock.monotonic() - startedMs))
  board.cycleBegins()
  try {
    const bookings = await readDemand(parts.client, context.signal)
    if (bookings === null) {
      board.cycleEnds(null)
      counters.add('cycles')
      return success('no session waits for a place')
    }
    const { sessions, reasons, isToBeRepeated } = await carried(parts, turn, bookings)
    board.cycleEnds({ sessions, settings: bookings.settings, reasons, nowMs: clock.now() })
    counters.add('cycles')
    if (turn.failures() > 0) return retry(`${turn.failures()} writes failed`)
    if (isToBeRepeated) return requeue('a worker that was counted on is held', 0)
    const pending = sessions.filter(isPending).length
    const said = `${pending} sessions were PENDING, ${reasons.size} have no place yet`
    return pending > 0 ? requeue(said, config.reconcileIntervalMs) : success(said)
  } catch (error) {
    board.cycleFails()
    throw error
  }
}

const isPending = ({ status }: LabletSession): boolean => status === 'PENDING'

interface Carried {
  readonly sessions: readonly LabletSession[]
  readonly reasons: ReadonlyMap<string, string>
  readonly isToBeRepeated: boolean
}

async function carried(parts: CycleParts, turn: CycleReport, bookings: Demand): Promise<Carried> {
  const { client, clock, config, definitions, held } = parts
  const { settings } = bookings
  const nowMs = clock.now()
  const sessions = await unassignLostWorkers(parts, turn, bookings, nowMs)
  if (!sessions.some(session => isDue(session, settings, nowMs)))
    return { sessions, reasons: new Map(), isToBeRepeated: false }
  const supply = await readSupply(client, definitions, { sessions, signal: turn.signal })
  forgetChanged(held, supply.workers)
  const workers = supply.workers.filter(({ id }) => !held.has(id))
  const steps = schedule({ ...supply, workers, sessions, settings, region: config.region, nowMs })
  const done = await performSteps(parts, turn, steps)
  for (const { id, version } of supply.workers) if (done.held.includes(id)) held.set(id, version)
  return { sessions, reasons: done.reasons, isToBeRepeated: done.held.length > 0 }
}

/** Whoever was changed since may be held no longer. */
function forgetChanged(held: Map<string, number>, workers: readonly Worker[]): void {
  const versions = new Map(workers.map(({ id, version }) => [id, version]))
  for (const [id, version] of held) if (versions.get(id) !== version) held.delete(id)
}

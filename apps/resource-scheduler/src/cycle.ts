import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { schedule } from '@lcm/domain/session/scheduling'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ReconcileContext, type ReconciliationResult, requeue, retry, success } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { type CarryOutParts, carryOut } from './carry-out.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import type { KnownDefinitions } from './known-definitions.ts'
import { offLostWorkers } from './lost-workers.ts'
import { type Turn, turnOf } from './turn.ts'
import { readWorld, type World } from './world.ts'

export interface CycleParts extends CarryOutParts {
  readonly clock: Clock
  readonly config: ResourceSchedulerConfig
  readonly definitions: KnownDefinitions
  /** Workers that a person holds stopped, each with the version at which that was said. */
  readonly held: Map<string, number>
}

/** Looks at all that waits, decides once for all of it, and does it. One that finds nothing to do writes nothing. */
export async function cycle(parts: CycleParts, context: ReconcileContext): Promise<ReconciliationResult> {
  const { clock, board, counters, config } = parts
  const startedMs = clock.monotonic()
  const turn = turnOf(parts, context, () => Math.round(clock.monotonic() - startedMs))
  board.cycleBegins()
  try {
    const read = await readWorld(parts.client, parts.definitions, context.signal)
    if (read === null) {
      board.cycleEnds(null)
      counters.add('cycles')
      return success('no session waits for a place')
    }
    const { world, reasons, isToBeRepeated } = await carried(parts, turn, read)
    board.cycleEnds({ world, reasons, nowMs: clock.now() })
    counters.add('cycles')
    if (turn.failures() > 0) return retry(`${turn.failures()} writes failed`)
    if (isToBeRepeated) return requeue('a worker that was counted on is held', 0)
    const pending = world.sessions.filter(isPending).length
    const said = `${pending} sessions were PENDING, ${reasons.size} have no place yet`
    return pending > 0 ? requeue(said, config.reconcileIntervalMs) : success(said)
  } catch (error) {
    board.cycleFails()
    throw error
  }
}

const isPending = ({ status }: LabletSession): boolean => status === 'PENDING'

async function carried(parts: CycleParts, turn: Turn, read: World) {
  const { clock, config, held } = parts
  const nowMs = clock.now()
  const world = await offLostWorkers(parts, turn, read, nowMs)
  forgetChanged(held, world.workers)
  const workers = world.workers.filter(({ id }) => !held.has(id))
  const done = await carryOut(parts, turn, schedule({ ...world, workers, region: config.region, nowMs }))
  for (const { id, version } of world.workers) if (done.held.includes(id)) held.set(id, version)
  return { world, reasons: done.reasons, isToBeRepeated: done.held.length > 0 }
}

/** Whoever was changed since may be held no longer. */
function forgetChanged(held: Map<string, number>, workers: readonly Worker[]): void {
  const versions = new Map(workers.map(({ id, version }) => [id, version]))
  for (const [id, version] of held) if (versions.get(id) !== version) held.delete(id)
}

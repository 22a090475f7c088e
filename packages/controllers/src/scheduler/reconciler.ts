import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import { keptUntil } from '@lcm/domain/fleet/kept-until'
import type { Plan } from '@lcm/domain/plan/plan'
import { boundedPlan } from '@lcm/domain/plan/stored-plan'
import { hasEnded, isFinal, type LabletSession, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { isWaiting, schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingInput } from '@lcm/domain/session/scheduling-types'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  type Logger,
  type Meter,
  poll,
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  reconciliation,
  requeue,
  retry,
  startupSweep,
  success,
  type Trigger,
  watch,
} from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { TermMemory } from '../kit/term-memory.ts'
import type { TimingsCache } from '../kit/timings-cache.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import { type DefinitionCache, type Demand, readDemand, readHosts, readStoredPlan, readSupply } from './observe.ts'
import { type PerformParts, performSteps } from './perform.ts'
import { type CycleReport, cycleReport } from './report.ts'
import type { CycleResult, SchedulerMemory } from './term-memory.ts'
import { unassignLostWorkers } from './unassign-from-lost-workers.ts'

export interface CycleParts extends PerformParts {
  readonly clock: Clock
  readonly config: ResourceSchedulerConfig
  readonly definitions: DefinitionCache
  readonly timings: TimingsCache
}

/**
 * Observes all sessions and workers, plans the next days, and performs what is due. Plans again only when something changed or the
 * plan has something to do, and writes nothing when there is nothing to do.
 */
export async function cycle(parts: CycleParts, context: ReconcileContext): Promise<ReconciliationResult> {
  const { clock, memory, counters, config } = parts
  const startedMs = clock.monotonic()
  const cycle = cycleReport(parts, context, () => Math.round(clock.monotonic() - startedMs))
  memory.cycleBegins()
  try {
    const done = await carriedOut(parts, cycle, await readDemand(parts.client, context.signal))
    memory.cycleEnds(done)
    counters.add('cycles')
    if (cycle.failures() > 0) return retry(`${cycle.failures()} writes failed`)
    if (done.isToBeRepeated) return requeue('a planned worker is held', 0)
    const pending = done.sessions.filter(isWaiting).length
    const message = `${pending} sessions were PENDING, ${done.reasons.size} are not placed yet`
    const inMs = Math.min(done.nextMs - clock.now(), config.reconcileIntervalMs)
    return pending > 0 ? requeue(message, Math.max(0, inMs)) : success(message)
  } catch (error) {
    memory.cycleFails()
    throw error
  }
}

interface CarriedOut extends CycleResult {
  readonly isToBeRepeated: boolean
}

async function carriedOut(parts: CycleParts, cycle: CycleReport, demand: Demand): Promise<CarriedOut> {
  const { client, clock, memory } = parts
  const { signal } = cycle
  const { settings } = demand
  const hasDemand = demand.sessions.some(isWaiting) || settings.terminate_sleeping
  const first = await readSupply(client, { hasDemand, signal })
  const hosts = await readHosts(client, { sessions: demand.sessions, workers: first.workers }, signal)
  const { sessions, leaving, hasReturned } = await unassignLostWorkers(
    parts,
    cycle,
    { ...demand, workers: hosts },
    clock.now(),
  )
  const isOutdated = hasReturned || (leaving.size > 0 && first.templates.length === 0)
  const supply = isOutdated ? await readSupply(client, { hasDemand: true, signal }) : first
  const open = sessions.filter(isToPlan)
  const held = memory.heldWorkers
  forgetChanged(held, supply.workers)
  const input: SchedulingInput = {
    ...supply,
    ...{ sessions: open, leaving, settings, region: parts.config.region },
    workers: supply.workers.filter(({ id }) => !held.has(id)),
    definitions: await parts.definitions.of(
      open.map(({ definition }) => definition.id),
      signal,
    ),
    timings: await parts.timings.read(signal),
    foreignLabs: memory.keptWorkers,
    keptUntil: keptUntil(supply.workers, settings),
    previous: await memory.planBefore(() => readStoredPlan(client, signal)),
    nowMs: clock.now(),
  }
  const known = memory.planFor(input)
  if (known !== null) return { ...known, sessions, workers: supply.workers, isToBeRepeated: false }
  const { plan, steps, later, nextMs } = schedule(input)
  const done = await performSteps(parts, cycle, steps)
  for (const { id, version } of supply.workers) if (done.held.includes(id)) held.set(id, version)
  const isStored = await storePlan(parts, cycle, plan)
  const result = { sessions, workers: supply.workers, reasons: done.reasons, later, nextMs }
  memory.planned(input, { ...result, plan, isSettled: isStored && steps.length === 0 })
  return { ...result, isToBeRepeated: done.held.length > 0 }
}

/** Sessions that wait, or hold capacity. */
const isToPlan = (session: LabletSession): boolean =>
  isWaiting(session) || (session.worker_id !== null && !isFinal(session.status))

/** Only a plan that would be carried out otherwise is written. A new leader confirms the one before it. False if the write failed. */
async function storePlan(parts: CycleParts, cycle: CycleReport, plan: Plan): Promise<boolean> {
  const { client, memory, counters } = parts
  const body = boundedPlan(plan)
  if (memory.isStored(body)) return true
  const written = await cycle.write(call => client.call('putPlan', { ...call, body }))
  if (written?.kind !== 'taken') return false
  memory.stored(body)
  counters.add('plans_stored')
  return true
}

/** A worker that was changed since may not be held any more. */
function forgetChanged(held: Map<string, number>, workers: readonly Worker[]): void {
  const versions = new Map(workers.map(({ id, version }) => [id, version]))
  for (const [id, version] of held) if (versions.get(id) !== version) held.delete(id)
}

/** All waiting sessions are decided together, so they share one key. */
const CYCLE = 'cycle'
/** Short, because a user may be waiting; many bookings at once are still folded. */
const SESSIONS_DEBOUNCE_MS = 100
const WORKERS_DEBOUNCE_MS = 500
const FIRST_AFTER_MS = 2_000

export interface CycleLoopParts extends Omit<CycleParts, 'memory'> {
  readonly memory: TermMemory<SchedulerMemory>
  readonly changeKeys: ChangeKeys
  readonly logger: Logger
  readonly meter: Meter
}

/** Runs one cycle at a time: on changes of sessions and workers that matter, and at every poll. */
export function cycleLoop(parts: CycleLoopParts): Reconciliation {
  const { memory, config, clock, logger, meter } = parts
  const everything = { list: () => onePage(CYCLE), keyOf: () => CYCLE }
  const isNewsOfSession = (hint: ChangeHint) =>
    (hint.status === 'PENDING' && hint.deleted !== true && !memory.current().isEcho(hint.id, hint.version)) ||
    (isEnding(hint) && memory.current().isEnd(hint.id))
  const isNewsOfWorker = (hint: ChangeHint) =>
    isLeaving(hint) || memory.current().isCapacityAwaited() || memory.current().isNewsOfWorker(hint)
  const polls = poll({
    ...everything,
    intervalMs: config.reconcileIntervalMs,
    initialDelayMs: config.reconcileIntervalMs,
    listsEverything: true,
  })
  return reconciliation<string>({
    name: 'resource-scheduler',
    metricPrefix: 'resource_scheduler',
    clock,
    logger,
    meter,
    concurrency: 1,
    triggers: [
      watched(parts, CHANGE_KEYS.sessions, { debounceMs: SESSIONS_DEBOUNCE_MS, wakes: isNewsOfSession }),
      watched(parts, CHANGE_KEYS.workers, { debounceMs: WORKERS_DEBOUNCE_MS, wakes: isNewsOfWorker }),
      startupSweep({ ...everything, delayMs: FIRST_AFTER_MS }),
      ...(config.pollingEnabled ? [polls] : []),
    ],
    reconcile: (_, context) => cycle({ ...parts, memory: memory.current() }, context),
  })
}

/** Its worker may have no other use. */
const isEnding = ({ status, desired_status: wanted, deleted }: ChangeHint): boolean =>
  deleted === true || wanted === 'TERMINATED' || (status !== undefined && hasEnded(status as SessionStatus))

/** Sessions on such a worker need another placement. */
const isLeaving = ({ status, desired_status: wanted }: ChangeHint): boolean =>
  status === 'TERMINATED' || status === 'TERMINATING' || wanted === 'STOPPED' || wanted === 'TERMINATED'

async function* onePage<T>(item: T): AsyncGenerator<readonly T[]> {
  yield [item]
}

function watched(
  { changeKeys }: CycleLoopParts,
  prefix: string,
  options: { readonly debounceMs: number; wakes(hint: ChangeHint): boolean },
): Trigger<string> {
  const trigger = watch<ChangeHint>({
    name: `watch of ${prefix}`,
    source: changeKeys.source(prefix),
    parseKey: key => (key.startsWith(prefix) ? CYCLE : null),
    isUrgent: options.wakes,
    ...options,
  })
  // The end of one resource is not the end of the cycle, which goes by the same key for all of them.
  return { ...trigger, run: context => trigger.run({ ...context, forget: () => undefined }) }
}

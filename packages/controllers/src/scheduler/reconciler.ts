import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import type { Reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isDue, schedule } from '@lcm/domain/session/scheduling'
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
import { type DefinitionCache, type Demand, readDemand, readSupply } from './observe.ts'
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

/** Observes all sessions, decides once for all of them and performs the steps. Writes nothing when there is nothing to do. */
export async function cycle(parts: CycleParts, context: ReconcileContext): Promise<ReconciliationResult> {
  const { clock, memory, counters, config } = parts
  const startedMs = clock.monotonic()
  const cycle = cycleReport(parts, context, () => Math.round(clock.monotonic() - startedMs))
  memory.cycleBegins()
  try {
    const bookings = await readDemand(parts.client, context.signal)
    if (bookings === null) {
      memory.cycleEnds(null)
      counters.add('cycles')
      return success('no session is waiting or placed')
    }
    const { sessions, due, reasons, isToBeRepeated } = await carried(parts, cycle, bookings)
    memory.cycleEnds({ ...due, sessions, reasons, nowMs: clock.now() })
    counters.add('cycles')
    if (cycle.failures() > 0) return retry(`${cycle.failures()} writes failed`)
    if (isToBeRepeated) return requeue('a planned worker is held', 0)
    const pending = sessions.filter(isPending).length
    const message = `${pending} sessions were PENDING, ${reasons.size} are not placed yet`
    return pending > 0 ? requeue(message, config.reconcileIntervalMs) : success(message)
  } catch (error) {
    memory.cycleFails()
    throw error
  }
}

const isPending = ({ status }: LabletSession): boolean => status === 'PENDING'

interface Carried {
  readonly sessions: readonly LabletSession[]
  readonly due: Pick<CycleResult, 'definitions' | 'settings' | 'timings'>
  readonly reasons: ReadonlyMap<string, Reason>
  readonly isToBeRepeated: boolean
}

async function carried(parts: CycleParts, cycle: CycleReport, bookings: Demand): Promise<Carried> {
  const { client, clock, config, definitions } = parts
  const held = parts.memory.heldWorkers
  const { settings } = bookings
  const nowMs = clock.now()
  const { sessions, leaving } = await unassignLostWorkers(parts, cycle, bookings, nowMs)
  const known = await definitions.of(
    sessions.map(({ definition }) => definition.id),
    cycle.signal,
  )
  const due = { settings, definitions: known, timings: await parts.timings.read(cycle.signal) }
  if (leaving.size === 0 && !sessions.some(session => isDue(session, due, nowMs)))
    return { sessions, due, reasons: new Map(), isToBeRepeated: false }
  const supply = await readSupply(client, cycle.signal)
  forgetChanged(held, supply.workers)
  const workers = supply.workers.filter(({ id }) => !held.has(id))
  const steps = schedule({ ...supply, ...due, workers, sessions, leaving, region: config.region, nowMs })
  const done = await performSteps(parts, cycle, steps)
  for (const { id, version } of supply.workers) if (done.held.includes(id)) held.set(id, version)
  return { sessions, due, reasons: done.reasons, isToBeRepeated: done.held.length > 0 }
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
  const isNewsOfSession = ({ id, version, status, deleted }: ChangeHint) =>
    status === 'PENDING' && deleted !== true && !memory.current().isEcho(id, version)
  const isNewsOfWorker = (hint: ChangeHint) => isLeaving(hint) || memory.current().isCapacityAwaited()
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

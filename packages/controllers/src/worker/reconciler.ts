import { type Client, unlessMissing } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/list-pages'
import { isRateLimited } from '@lcm/cloud/errors'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { decideWorker, needsAttention } from '@lcm/domain/worker/decide'
import type { Decision } from '@lcm/domain/worker/decision/decision'
import { driftOf } from '@lcm/domain/worker/drift'
import { isWishUnserved } from '@lcm/domain/worker/lifecycle'
import type { Observation, WorkerPolicy } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  type Election,
  every,
  gone,
  type Logger,
  type Meter,
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  requeue,
  watchTriggeredHostedService,
} from '@lcm/runtime'
import type { DecisionLog } from '../kit/decision-log.ts'
import type { SettingsCache } from '../kit/settings-cache.ts'
import type { TermMemory } from '../kit/term-memory.ts'
import type { CmlChecks } from './checks/cml-checks.ts'
import type { CmlProbes } from './cml-probes.ts'
import type { WorkerControllerConfig } from './config.ts'
import { type ObserveParts, observe } from './observe.ts'
import { performDecision } from './perform.ts'
import { ec2Of, noteOf, type WorkerCounters, type WorkerSeries } from './report.ts'
import type { WorkerMemory } from './term-memory.ts'

export interface WorkerReconcilerParts extends Omit<ObserveParts, 'memory'> {
  readonly election: Election
  readonly changeKeys: ChangeKeys
  readonly logger: Logger
  readonly meter: Meter
  readonly decisions: DecisionLog
  readonly settings: SettingsCache
  readonly counters: WorkerCounters
  readonly series: WorkerSeries
  readonly memory: TermMemory<WorkerMemory>
  readonly probes: CmlProbes
  readonly checks: Pick<CmlChecks, 'reconciled' | 'forget'>
  measureNow(worker: Worker, signal: AbortSignal): Promise<void>
}

const WORKER_KEYS = CHANGE_KEYS.workers
const FULL_SWEEP_MS = 10 * 60_000

/** Seeds: WorkerReconciler. Watch-triggered, 30 s; the group that it belongs to is run by the leader only. */
export function workerReconciler(parts: WorkerReconcilerParts): Reconciliation {
  const { client, config, changeKeys, clock, logger, meter } = parts
  const listAll = (signal: AbortSignal) => listWorkers(client, signal)
  return watchTriggeredHostedService<Worker, ChangeHint>(
    {
      listResources: listAll,
      keyOf: worker => worker.id,
      fetchResource: (id, signal) => fetchWorker(client, id, signal),
      needsAttention,
      reconcile: (worker, context) => reconcileWorker(parts, worker, context),
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: key => (key.startsWith(WORKER_KEYS) ? key.slice(WORKER_KEYS.length) : null),
      isUrgent: hint => hint.status !== hint.desired_status,
      goesFirst: ({ status = '', desired_status = '' }) => isWishUnserved(status, desired_status),
      moreTriggers: [every({ list: listAll, keyOf: worker => worker.id, intervalMs: FULL_SWEEP_MS })],
    },
    {
      serviceName: 'worker-controller',
      metricPrefix: 'worker_controller',
      intervalMs: config.reconcileIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: config.maxConcurrent,
      backoffMultiplier: config.backoffMultiplier,
    },
    { prefix: WORKER_KEYS },
    { clock, logger, meter },
  )
}

const listWorkers = (client: Client, signal: AbortSignal) =>
  pagesOf(page => client.call('listWorkers', { query: page, signal }))

const fetchWorker = (client: Client, id: string, signal: AbortSignal): Promise<Worker | null> =>
  unlessMissing(client.call('getWorker', { params: { id }, signal }))

/** Observe, decide, then either announce, or perform and report. At most one write; none when nothing changed. */
async function reconcileWorker(
  parts: WorkerReconcilerParts,
  worker: Worker,
  base: ReconcileContext<Worker>,
): Promise<ReconciliationResult> {
  if (worker.status === 'TERMINATED') return forget(parts, worker)
  parts.checks.reconciled(worker)
  const { clock } = parts
  const memory = parts.memory.current()
  const startedMs = clock.monotonic()
  const policy = currentPolicy(parts.config, await parts.settings.read(base.signal))
  const seen = await base.withoutSlot(() => observeRefreshed({ ...parts, memory }, worker, policy, base.signal))
  const context = { ...base, seen, durationMs: () => Math.round(clock.monotonic() - startedMs) }
  const decision = decideWorker(worker, seen, policy, clock.now())
  const seconds = context.durationMs() / 1000
  const drift = driftOf(worker, seen, policy)
  memory.fleet.reconciled(worker, { decision, drift })
  parts.series.reconciled(worker, { drift, ec2: ec2Of(seen), seconds, workers: memory.fleet.workersManaged() })
  const name = `worker:${worker.id}`
  let result: ReconciliationResult
  try {
    result = await performDecision({ ...parts, memory, policy }, worker, decision, context)
  } catch (error) {
    if (!isRateLimited(error)) throw error
    parts.decisions.note(name, context.epoch, { ...noteOf(worker, decision, context, error.message), action: 'wait' })
    return requeue(error.message, error.retryAfterMs)
  }
  // The write of its condition reports an outage once.
  if (decision.action.kind === 'retry') return result
  if (!isWritten(decision))
    parts.decisions.note(name, context.epoch, noteOf(worker, decision, context, outcomeOf(decision, result)))
  else if (decision.action.kind !== 'survey') parts.decisions.written(name, decision.because)
  return result
}

/** A refresh request also collects fresh metrics, once per request. */
async function observeRefreshed(
  parts: ObserveParts & Pick<WorkerReconcilerParts, 'measureNow'>,
  worker: Worker,
  policy: WorkerPolicy,
  signal: AbortSignal,
): Promise<Observation> {
  const { id, status, refresh_requested_at: requested } = worker
  const { refreshes } = parts.memory
  if (status !== 'RUNNING' || requested === null || refreshes.get(id) === requested)
    return observe(parts, worker, policy, signal)
  refreshes.set(id, requested)
  const [observation] = await Promise.all([observe(parts, worker, policy, signal), parts.measureNow(worker, signal)])
  return observation
}

/** Decisions that a write holds, and routine probes, need no note. */
const isWritten = ({ action }: Decision): boolean =>
  action.kind === 'write' || action.kind === 'open_attempt' || action.kind === 'survey'

/** Decisions whose result only repeats the reason have no outcome. */
const outcomeOf = ({ action }: Decision, { message }: ReconciliationResult): string =>
  action.kind === 'nothing' || action.kind === 'wait' || action.kind === 'stop_labs' ? '' : (message ?? '')

function forget(parts: WorkerReconcilerParts, worker: Worker): ReconciliationResult {
  const { memory, logins, probes, checks, access, decisions, series } = parts
  for (const each of [memory.current(), logins, probes, checks, access, series]) each.forget(worker.id)
  decisions.forget(`worker:${worker.id}`)
  return gone('TERMINATED is final')
}

/** The configured policy with the present settings of operators. */
export const currentPolicy = (config: WorkerControllerConfig, settings: SettingValues): WorkerPolicy => ({
  ...config.policy,
  fleet: config.fleet,
  licenseOnTerminate: settings.license_on_terminate,
  licenseOnStop: settings.license_on_stop,
})

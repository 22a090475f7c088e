import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/lists'
import { CloudError } from '@lcm/cloud/errors'
import { fencedCompute } from '@lcm/cloud/fenced'
import { CHANGE_KEYS } from '@lcm/contract/change-keys'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import { assert } from '@lcm/domain/assert'
import type { DecisionNote } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import { decideWorker, lookAgain, needsAttention } from '@lcm/domain/worker/decide'
import type { Decision } from '@lcm/domain/worker/decision'
import { judgeLaunch } from '@lcm/domain/worker/launch'
import type { Observation } from '@lcm/domain/worker/observation'
import type { LaunchAttempt, Worker, WorkerChanges } from '@lcm/domain/worker/worker'
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
  retry,
  success,
  watchTriggeredHostedService,
} from '@lcm/runtime'
import type { DecisionLog } from '@lcm/service/decision-log'
import { type ObserveParts, type Observer, observer } from './observe.ts'
import { changeMachine, launch, type MachineAction, openAttempt } from './perform.ts'

export interface WorkerReconcilerParts extends ObserveParts {
  readonly election: Election
  readonly changeKeys: ChangeKeys
  readonly logger: Logger
  readonly meter: Meter
  readonly decisions: DecisionLog
}

export interface WorkerReconciler extends Reconciliation {
  /** What it would do next, worker by worker, and when. */
  plan(): readonly PlannedAction[]
}

const WORKER_KEYS = CHANGE_KEYS.workers
/** What the API takes; a cloud's own words may be longer. */
const BECAUSE_CHARS_MAX = 1000
const FULL_SWEEP_MS = 10 * 60_000

/** Seeds: WorkerReconciler. Watch-triggered, 30 s, run by the leader only. */
export function workerReconciler(parts: WorkerReconcilerParts): WorkerReconciler {
  const { client, config, changeKeys } = parts
  const observing = observer(parts)
  const plan = new Map<string, PlannedAction>()
  const listAll = (signal: AbortSignal) => listWorkers(client, signal)
  const loop = watchTriggeredHostedService<Worker, ChangeHint>(
    {
      listResources: listAll,
      keyOf: worker => worker.id,
      fetchResource: (id, signal) => fetchWorker(client, id, signal),
      needsAttention,
      reconcile: (worker, context) => reconcile({ ...parts, observing, plan }, worker, context),
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: key => (key.startsWith(WORKER_KEYS) ? key.slice(WORKER_KEYS.length) : null),
      isUrgent: hint => hint.status !== hint.desired_status,
      moreTriggers: [every({ list: listAll, keyOf: worker => worker.id, intervalMs: FULL_SWEEP_MS })],
    },
    {
      serviceName: 'worker-controller',
      metricPrefix: 'worker_controller',
      intervalMs: config.reconcileIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: config.maxConcurrent,
    },
    { prefix: WORKER_KEYS },
    parts,
  )
  return { ...loop, plan: () => [...plan.values()] }
}

const listWorkers = (client: Client, signal: AbortSignal) =>
  pagesOf(page => client.call('listWorkers', { query: page, signal }))

async function fetchWorker(client: Client, id: string, signal: AbortSignal): Promise<Worker | null> {
  try {
    return await client.call('getWorker', { params: { id }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}

/** One look at one worker: what the loop says of it, and what was seen. */
interface Context extends ReconcileContext<Worker> {
  readonly seen: Observation
  durationMs(): number
}
interface Parts extends WorkerReconcilerParts {
  readonly observing: Observer
  readonly plan: Map<string, PlannedAction>
}

/** Observe, decide, then either announce, or perform and report. At most one write, and none when there is nothing to say. */
async function reconcile(parts: Parts, worker: Worker, given: ReconcileContext<Worker>): Promise<ReconciliationResult> {
  if (worker.status === 'TERMINATED') {
    parts.observing.forget(worker.id)
    parts.decisions.forget(`worker:${worker.id}`)
    parts.plan.delete(worker.id)
    return gone('TERMINATED is final')
  }
  const startedMs = parts.clock.monotonic()
  parts.observing.beginTerm(given.epoch)
  const seen = await parts.observing.observe(worker, given.signal)
  const durationMs = () => Math.round(parts.clock.monotonic() - startedMs)
  const context = { ...given, seen, durationMs }
  const decision = decideWorker(worker, seen, parts.config.policy, parts.clock.now())
  planFor(parts, worker, decision)
  const result = await act(parts, worker, decision, context)
  if (!isWritten(decision))
    parts.decisions.note(`worker:${worker.id}`, context.epoch, noteOf({ worker, decision, context }, result.message))
  return result
}

/** Those are carried by the write itself. */
const isWritten = ({ action }: Decision): boolean => action.kind === 'write' || action.kind === 'open_attempt'

function planFor({ plan, clock }: Parts, worker: Worker, { action, because }: Decision): void {
  if (action.kind === 'nothing') {
    plan.delete(worker.id)
    return
  }
  const due_at = toInstant(clock.now() + (action.kind === 'wait' ? action.afterMs : 0))
  plan.set(worker.id, {
    resource: `worker:${worker.id}`,
    action: action.kind,
    because: because.slice(0, BECAUSE_CHARS_MAX),
    due_at,
  })
}

interface Decided {
  readonly worker: Worker
  readonly decision: Decision
  readonly context: Context
}

/** The decision as the journal keeps it, with what it was based on. */
const noteOf = ({ worker, decision, context }: Decided, outcome = ''): DecisionNote => ({
  action: decision.action.kind,
  because: decision.because.slice(0, BECAUSE_CHARS_MAX) || decision.action.kind,
  cause: context.cause.slice(0, 200),
  seen: {
    version: worker.version,
    status: worker.status,
    desired_status: worker.desired_status,
    ec2: ec2Of(context.seen),
    cml: context.seen.cml?.stage ?? null,
  },
  guards: decision.guards.map(guard => ({ ...guard })),
  outcome: outcome.slice(0, BECAUSE_CHARS_MAX),
  duration_ms: context.durationMs(),
})

const ec2Of = ({ ec2 }: Observation): string => (ec2.kind === 'instance' ? ec2.instance.state : ec2.kind)

async function act(parts: Parts, worker: Worker, decision: Decision, context: Context): Promise<ReconciliationResult> {
  const { action, because } = decision
  switch (action.kind) {
    case 'nothing':
      return success(because)
    case 'wait':
      return requeue(because, action.afterMs)
    case 'write':
      return report(parts, worker, { changes: action.changes, afterMs: action.afterMs, decision }, context)
    case 'open_attempt': {
      const attempt = openAttempt(worker, action.n, action.parameters, parts.clock.now())
      return announceAttempt(parts, { worker, decision, context }, attempt)
    }
    case 'launch':
      return launchAndReport(parts, worker, context)
    default:
      return change(parts, worker, action, context)
  }
}

async function launchAndReport(parts: Parts, worker: Worker, context: Context): Promise<ReconciliationResult> {
  assert(worker.launch, `${worker.id} has no attempt to launch`)
  const compute = fencedCompute(parts.compute, context.leadership.isHeld)
  parts.observing.launchSent(worker.id)
  const outcome = await launch(compute, worker, context.signal)
  const at = { policy: parts.config.policy, nowMs: parts.clock.now() }
  return act(parts, worker, judgeLaunch(worker, worker.launch, outcome, at), context)
}

async function change(
  parts: Parts,
  worker: Worker,
  action: MachineAction,
  context: Context,
): Promise<ReconciliationResult> {
  const compute = fencedCompute(parts.compute, context.leadership.isHeld)
  try {
    const state = await changeMachine(compute, worker, action, context.signal)
    return requeue(`${action.kind}: EC2 says ${state}`, lookAgain(worker, parts.config.policy, parts.clock.now()))
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    const expected = ['throttled', 'state', 'capacity', 'not_found'].includes(error.errorClass)
    return expected ? requeue(error.message, parts.config.policy.lookAgainMsMax) : retry(error.message, error)
  }
}

interface Report {
  readonly changes: WorkerChanges
  readonly afterMs: number | null
  readonly decision: Decision
}

/** One guarded write. Losing the race to another writer is no failure: look again at what they wrote. */
async function report(parts: Parts, worker: Worker, { changes, afterMs, decision }: Report, context: Context) {
  const body = { changes, decision: noteOf({ worker, decision, context }) }
  const lost = await guarded(parts, call => parts.client.call('reportWorkerStatus', { ...call, body }), worker, context)
  if (lost !== null) return lost
  const said =
    changes.status === undefined ? decision.because : `${worker.status} -> ${changes.status}: ${decision.because}`
  return afterMs === null ? success(said) : requeue(said, afterMs)
}

/** The attempt is stored before the cloud is asked; the very next look launches it. */
async function announceAttempt(parts: Parts, { worker, decision, context }: Decided, attempt: LaunchAttempt) {
  const body = { attempt, decision: noteOf({ worker, decision, context }) }
  const lost = await guarded(parts, call => parts.client.call('openLaunchAttempt', { ...call, body }), worker, context)
  return lost ?? requeue(decision.because, 0)
}

/** Null when the write was taken. */
async function guarded(
  parts: Parts,
  write: (call: { params: { id: string }; ifMatch: number; epoch: number; signal: AbortSignal }) => Promise<unknown>,
  worker: Worker,
  { epoch, signal }: Context,
): Promise<ReconciliationResult | null> {
  try {
    await write({ params: { id: worker.id }, ifMatch: worker.version, epoch, signal })
    return null
  } catch (error) {
    if (isProblem(error, 'version_mismatch')) return requeue('somebody else wrote meanwhile', 0)
    // The API knows another term: only a new one, registered anew, can be of use.
    if (isProblem(error, 'stale_leader', 'term_not_registered')) await parts.election.resign()
    throw error
  }
}

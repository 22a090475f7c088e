import type { Client } from '@lcm/client/client'
import type { DecisionNote } from '@lcm/domain/journal-records'
import type { Decision } from '@lcm/domain/worker/decision/decision'
import { DRIFT_TYPES, type DriftType } from '@lcm/domain/worker/drift'
import type { Observation } from '@lcm/domain/worker/observation'
import { holds, type LaunchAttempt, type Worker, type WorkerChanges, withChanges } from '@lcm/domain/worker/worker'
import {
  type Election,
  type Meter,
  type ReconcileContext,
  type ReconciliationResult,
  requeue,
  success,
} from '@lcm/runtime'
import { OUTCOME_CHARS_MAX } from '../kit/decision-log.ts'
import { fencedWrite, SupersededError } from '../kit/fenced-write.ts'
import { type Counters, counters } from '../kit/metrics.ts'

const COUNTERS = {
  provisioned: 'launches that EC2 accepted',
  started: 'machines first seen running after a launch or a start',
  stopped: 'machines that EC2 confirmed as stopped',
  terminated: 'machines that EC2 confirmed as terminated',
  metrics_collected: 'metrics collection cycles that completed',
  idle_detection: 'idle checks of workers',
  auto_pause: 'workers that were stopped because they were idle',
  license_registered: 'licenses that were registered',
  license_deregistered: 'licenses that were returned',
  scale_down_drain: 'workers that were drained because they were idle',
} as const

export interface WorkerCounters extends Pick<Counters<keyof typeof COUNTERS>, 'add'> {
  /** The eleven of `/admin/stats`. */
  snapshot(runningWorkers: number): Readonly<Record<string, number>>
}

export function workerCounters(meter: Meter): WorkerCounters {
  const counted = counters(meter, 'worker_controller', COUNTERS)
  const running = meter.gauge('worker_controller_running_workers', 'workers that are RUNNING')
  return {
    add: counted.add,
    snapshot(runningWorkers) {
      running.set(runningWorkers)
      return { ...counted.snapshot(), running_worker_count: runningWorkers }
    },
  }
}

const ALL_WORKERS = '_all'

interface Shown {
  readonly state: string
  readonly tier: string
}

/** Prometheus series per worker, up to a limit: above it, one series for all. Series of removed workers are dropped. */
export interface WorkerSeries {
  reconciled(worker: Worker, found: { drift: DriftType | null; ec2: string; seconds: number; workers: number }): void
  forget(workerId: string): void
  /** Stale gauges of an ended term would never be updated. */
  clear(): void
}

export function workerSeries(meter: Meter, workerSeriesMax: number): WorkerSeries {
  const duration = meter.histogram('worker_reconciliation_duration_seconds', 'duration of one reconcile of a worker', [
    'worker_id',
  ])
  const drifts = meter.counter(
    'worker_drift_detected_total',
    'reconciles that found EC2 or CML to differ from the worker record',
    ['worker_id', 'drift_type'],
  )
  const states = meter.gauge('worker_ec2_state', '1 for the last state that EC2 reported', ['worker_id', 'state'])
  const licenses = meter.gauge('worker_cml_license_status', '1 while the CML is registered', ['worker_id', 'tier'])
  const folded = meter.gauge('worker_series_folded', '1 when there are too many workers for a series per worker')
  const shown = new Map<string, Shown>()
  for (const drift_type of DRIFT_TYPES) drifts.add(0, { worker_id: ALL_WORKERS, drift_type })
  folded.set(0)

  function dropGauges(worker_id: string): void {
    const last = shown.get(worker_id)
    if (last === undefined) return
    states.drop({ worker_id, state: last.state })
    licenses.drop({ worker_id, tier: last.tier })
    shown.delete(worker_id)
  }
  function forget(worker_id: string): void {
    dropGauges(worker_id)
    duration.drop({ worker_id })
    for (const drift_type of DRIFT_TYPES) drifts.drop({ worker_id, drift_type })
  }
  function clear(): void {
    for (const worker_id of [...shown.keys()]) forget(worker_id)
  }

  return {
    clear,
    forget,
    reconciled(worker, { drift, ec2, seconds, workers }) {
      const isFolded = workers > workerSeriesMax
      const worker_id = isFolded ? ALL_WORKERS : worker.id
      folded.set(isFolded ? 1 : 0)
      duration.observe(seconds, { worker_id })
      if (drift !== null) drifts.add(1, { worker_id, drift_type: drift })
      if (isFolded) {
        clear()
        return
      }
      const now = { state: ec2, tier: worker.license.product ?? 'none' }
      dropGauges(worker_id)
      shown.set(worker_id, now)
      states.set(1, { worker_id, state: now.state })
      licenses.set(worker.license.status === 'REGISTERED' ? 1 : 0, { worker_id, tier: now.tier })
    },
  }
}

/** One reconcile of one worker: the context of the loop, and the observation. */
export interface WorkerReconcile extends ReconcileContext<Worker> {
  readonly seen: Observation
  durationMs(): number
}

export interface ReportParts {
  readonly client: Client
  readonly election: Election
  readonly counters: WorkerCounters
}

interface Report {
  readonly changes: WorkerChanges
  readonly afterMs: number | null
  readonly decision: Decision
}

/** One fenced write. Losing the race to another writer is no failure: the worker is reconciled again. */
export async function report(
  parts: ReportParts,
  worker: Worker,
  { changes, afterMs, decision }: Report,
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  const body = { changes, decision: noteOf(worker, decision, context) }
  const lost = await guarded(parts, worker, context, call => parts.client.call('reportWorkerStatus', { ...call, body }))
  if (lost !== null) return lost
  count(parts.counters, worker, withChanges(worker, changes), decision)
  const moved = changes.status === undefined ? '' : `${worker.status} -> ${changes.status}: `
  const message = `${moved}${decision.because.message}`
  // A terminated worker is reconciled once more to be forgotten, even without a change hint.
  const againMs = changes.status === 'TERMINATED' ? 0 : afterMs
  return againMs === null ? success(message) : requeue(message, againMs)
}

/** Stores the attempt before EC2 is called; the next reconcile launches it. */
export async function announceAttempt(
  parts: ReportParts,
  worker: Worker,
  { attempt, decision }: { attempt: LaunchAttempt; decision: Decision },
  context: WorkerReconcile,
): Promise<ReconciliationResult> {
  const body = { attempt, decision: noteOf(worker, decision, context) }
  const lost = await guarded(parts, worker, context, call => parts.client.call('openLaunchAttempt', { ...call, body }))
  return lost ?? requeue(decision.because.message, 0)
}

interface GuardedCall {
  readonly params: { id: string }
  readonly ifMatch: number
  readonly epoch: number
  readonly signal: AbortSignal
}

/** Null when the write succeeded. */
async function guarded(
  { election }: ReportParts,
  worker: Worker,
  { epoch, signal }: WorkerReconcile,
  write: (call: GuardedCall) => Promise<unknown>,
): Promise<ReconciliationResult | null> {
  const call = { params: { id: worker.id }, ifMatch: worker.version, epoch, signal }
  try {
    await fencedWrite(election, () => write(call), ['version_mismatch'])
    return null
  } catch (error) {
    if (error instanceof SupersededError) return requeue(error.message, 0)
    throw error
  }
}

/** Counts transitions of a successful write. */
function count(counters: WorkerCounters, before: Worker, after: Worker, { action }: Decision): void {
  if (before.status !== after.status) {
    const hadMachine = before.ec2_instance_id !== null
    if (after.status === 'PROVISIONING') counters.add('provisioned')
    if (after.status === 'STOPPED' && hadMachine) counters.add('stopped')
    if (after.status === 'TERMINATED' && hadMachine) counters.add('terminated')
  }
  if (!holds(before.conditions, 'InstanceRunning') && holds(after.conditions, 'InstanceRunning'))
    counters.add('started')
  if (before.license.status === after.license.status) return
  if (after.license.status === 'REGISTERED') counters.add('license_registered')
  // A leaked license was not returned; neither was one that was never seen.
  const isGivenBack = before.license.status !== 'UNKNOWN' && action.kind !== 'record_leak'
  if (after.license.status === 'UNREGISTERED' && isGivenBack) counters.add('license_deregistered')
}

/** The decision with its inputs, for the journal. */
export const noteOf = (worker: Worker, decision: Decision, context: WorkerReconcile, outcome = ''): DecisionNote => ({
  action: decision.action.kind,
  because: decision.because,
  cause: context.cause.slice(0, 200),
  seen: {
    version: worker.version,
    status: worker.status,
    desired_status: worker.desired_status,
    ec2: ec2Of(context.seen),
    cml: context.seen.cml?.stage ?? null,
    license: context.seen.license?.kind === 'seen' ? context.seen.license.registration : null,
  },
  guards: decision.guards.map(guard => ({ ...guard })),
  outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
  duration_ms: context.durationMs(),
})

export const ec2Of = ({ ec2 }: Observation): string => (ec2.kind === 'instance' ? ec2.instance.state : ec2.kind)

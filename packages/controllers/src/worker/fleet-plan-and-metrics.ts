import { toInstant } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { MANUAL } from '@lcm/domain/text/action-words'
import type { Decision } from '@lcm/domain/worker/decision/decision'
import { BLOCKED_CONDITION } from '@lcm/domain/worker/decision/ec2-refusal'
import { DRIFT_TYPES, type DriftType } from '@lcm/domain/worker/drift'
import type { Worker } from '@lcm/domain/worker/worker'
import { isManual } from '@lcm/domain/worker/worker-next-step'
import type { Meter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { planBoard } from '../kit/decision-log.ts'

const EVERYBODY = '_all'

/** The last observation of each worker, for plan, health and metrics. */
export interface FleetBoard {
  reconciled(worker: Worker, found: { decision: Decision; drift: DriftType | null; ec2: string; seconds: number }): void
  forget(workerId: string): void
  /** Drops the observations of a term. */
  clear(): void
  plan(): readonly PlannedAction[]
  workersManaged(): number
  workersWithDrift(): number
  runningWorkers(): number
  runningIds(): readonly string[]
}

interface Entry {
  readonly status: Worker['status']
  readonly drift: DriftType | null
}

export function fleetBoard({
  meter,
  clock,
  workerSeriesMax,
}: {
  meter: Meter
  clock: Clock
  workerSeriesMax: number
}): FleetBoard {
  const entries = new Map<string, Entry>()
  const board = planBoard()
  const series = fleetSeries(meter, workerSeriesMax)
  return {
    reconciled(worker, { decision, drift, ec2, seconds }) {
      entries.set(worker.id, { status: worker.status, drift })
      board.set(`worker:${worker.id}`, plannedFor(worker, decision, clock.now()))
      series.reconciled(worker, { drift, ec2, seconds, workers: entries.size })
    },
    forget(workerId) {
      entries.delete(workerId)
      board.forget(`worker:${workerId}`)
      series.drop(workerId)
    },
    clear() {
      entries.clear()
      board.clear()
      series.clear()
    },
    plan: board.plan,
    workersManaged: () => entries.size,
    workersWithDrift: () => countOf(entries, entry => entry.drift !== null),
    runningWorkers: () => countOf(entries, entry => entry.status === 'RUNNING'),
    runningIds: () => [...entries].flatMap(([id, { status }]) => (status === 'RUNNING' ? [id] : [])),
  }
}

function countOf(entries: ReadonlyMap<string, Entry>, holds: (entry: Entry) => boolean): number {
  let count = 0
  for (const entry of entries.values()) if (holds(entry)) count += 1
  return count
}

function plannedFor(
  worker: Worker,
  { action, because }: Decision,
  nowMs: number,
): Omit<PlannedAction, 'resource'> | null {
  const isBlocked = action.kind === 'nothing' && isManual(worker)
  // A routine probe is no plan.
  if ((action.kind === 'nothing' || action.kind === 'survey') && !isBlocked) return null
  return {
    action: isBlocked ? MANUAL : action.kind,
    because: refusalOf(worker, action.kind) ?? because,
    due_at: isBlocked ? null : dueAt(action, nowMs),
  }
}

/** Why EC2 refused the same action last time; the retry alone would explain nothing. */
function refusalOf({ conditions }: Worker, act: string): Reason | null {
  const type = new Map<string, string>(Object.entries(BLOCKED_CONDITION)).get(act)
  return conditions.find(each => each.type === type && each.status)?.reason ?? null
}

/** Only the loop knows when the backoff of a retry ends. */
const dueAt = (action: Decision['action'], nowMs: number): string | null =>
  action.kind === 'retry' ? null : toInstant(nowMs + (action.kind === 'wait' ? action.afterMs : 0))

interface Shown {
  readonly state: string
  readonly tier: string
}

/** Prometheus series per worker, up to a limit. Series of removed workers are dropped. */
function fleetSeries(meter: Meter, workerSeriesMax: number) {
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
  for (const drift_type of DRIFT_TYPES) drifts.add(0, { worker_id: EVERYBODY, drift_type })
  folded.set(0)

  function dropGauges(worker_id: string): void {
    const last = shown.get(worker_id)
    if (last === undefined) return
    states.drop({ worker_id, state: last.state })
    licenses.drop({ worker_id, tier: last.tier })
    shown.delete(worker_id)
  }
  function drop(worker_id: string): void {
    dropGauges(worker_id)
    duration.drop({ worker_id })
    for (const drift_type of DRIFT_TYPES) drifts.drop({ worker_id, drift_type })
  }
  /** Stale gauges would never be updated. */
  function clear(): void {
    for (const worker_id of [...shown.keys()]) drop(worker_id)
  }

  return {
    clear,
    drop,
    reconciled(
      worker: Worker,
      { drift, ec2, seconds, workers }: { drift: DriftType | null; ec2: string; seconds: number; workers: number },
    ): void {
      const isFolded = workers > workerSeriesMax
      const worker_id = isFolded ? EVERYBODY : worker.id
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

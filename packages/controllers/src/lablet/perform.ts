import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { labUnavailable, type SessionChanges } from '@lcm/domain/session/decide-session'
import { upConditions } from '@lcm/domain/session/lab-stop-cause'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ReconciliationResult, requeue, success } from '@lcm/runtime'
import type { LabletDependencies } from './dependencies.ts'
import { leaveWorker } from './leave-worker.ts'
import { accessAtWorker, type ObservedDecision, type SessionObservation } from './observe.ts'
import { type SessionReconcile, writeSession } from './report.ts'
import { runStep } from './steps/run-step.ts'

/** A waiting session is reconciled after this many poll intervals at the latest, so a missed change is found. */
const WAITING_ROUNDS_MAX = 2
/** A lab that CML did not show is read again after this long. */
const UNSEEN_AGAIN_MS = 10_000

/** Performs one decision: one write, or one step. */
export async function performDecision(
  parts: LabletDependencies,
  context: SessionReconcile,
  deciding: ObservedDecision,
): Promise<ReconciliationResult> {
  const { action, because } = deciding.decision
  switch (action.kind) {
    case 'nothing':
      return success(because.message)
    case 'wait':
      await writeObservation(context, deciding.seen)
      return requeue(
        because.message,
        Math.min(
          Math.max(0, action.afterMs),
          deciding.seen.labUnseen === null ? WAITING_ROUNDS_MAX * parts.config.reconcileIntervalMs : UNSEEN_AGAIN_MS,
        ),
      )
    case 'write':
      return write(parts, context, deciding, action.changes)
    case 'step':
      return runStep(parts, context, deciding, action.next)
  }
}

/** Writes changes of the lab, of its worker and of the worker's address while a session that is up waits. */
async function writeObservation(
  context: SessionReconcile,
  { labState, isLabStopped, labUnseen, worker, nowMs }: SessionObservation,
): Promise<void> {
  const { status } = context.session
  if (!isUp(status)) return
  const unavailable = labUnavailable(worker) ?? (labUnseen === 'known' ? labUnknown(worker) : null)
  const lab = { state: labState, isStopped: isLabStopped, worker, unavailable }
  const conditions = upConditions(context.session, lab, toInstant(nowMs))
  const access = accessAtWorker(context.session, worker)
  if (conditions === null && access === null) return
  const note =
    conditions === null
      ? { action: 'access', because: reason('worker_address_changed') }
      : {
          action: 'condition',
          because: conditions.at(-1)?.reason ?? reason('not_given'),
        }
  await writeSession(context, { ...(conditions && { conditions }), ...(access && { access }) }, note)
}

const labUnknown = (worker: Worker | null): Reason | null =>
  worker && reason('lab_state_unknown', { worker: worker.name, status: worker.status })

async function write(
  parts: LabletDependencies,
  context: SessionReconcile,
  { decision, seen }: ObservedDecision,
  changes: SessionChanges,
): Promise<ReconciliationResult> {
  const { session } = context
  const version = await leaveWorker(context, seen, changes)
  const note = { action: changes.status ?? 'write', because: decision.because, version }
  await writeSession(context, changes, note)
  count(parts, session, changes)
  const moved = changes.status === undefined ? '' : `${session.status} -> ${changes.status}: `
  return requeue(`${moved}${decision.because.message}`, 0)
}

function count({ counters }: LabletDependencies, { status }: LabletSession, changes: SessionChanges): void {
  if (changes.status === status) return
  if (changes.status === 'INSTANTIATING') counters.add('sessions_instantiated')
  if (changes.status === 'READY') counters.add('sessions_ready')
  if (changes.status === 'STOPPED') counters.add('sessions_stopped')
}

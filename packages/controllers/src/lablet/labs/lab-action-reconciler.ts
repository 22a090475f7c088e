import { pagesOf } from '@lcm/client/list-pages'
import { CloudError } from '@lcm/cloud/errors'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeHint } from '@lcm/coordination/change-keys'
import { toInstant } from '@lcm/domain/instant'
import { isQuiet, type LabAction, type LabRecord, type LabStatus } from '@lcm/domain/lab/lab-record'
import { type Reason, reason } from '@lcm/domain/reason'
import { canServeLabs } from '@lcm/domain/session/decide-session'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  gone,
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  requeue,
  success,
  watchTriggeredHostedService,
} from '@lcm/runtime'
import { fencedWrite, SupersededError } from '../../kit/fenced-write.ts'
import { fetchLab, fetchWorker, type LabChanges } from '../api-calls.ts'
import type { LabletDependencies } from '../dependencies.ts'
import { type FencedLabs, fencedLabs } from './fenced-labs.ts'
import { tearDownLab } from './lab-teardown.ts'

export type LabActionParts = Omit<LabletDependencies, 'definitions' | 'settings'>

const LAB_KEYS = CHANGE_KEYS.labs
const UNDER_WAY_MS = 3_000
const BACKOFF_MS = 10_000
const BACKOFF_MS_MAX = 10 * 60_000
const WAITING_MS = 30_000
const NO_SLOT_MS = 1_000
const ATTEMPTS_MAX = 5
/** An attempt fails after this time. */
const ATTEMPT_MS_MAX = 15 * 60_000

type Pending = NonNullable<LabRecord['pending_action']>

/** State of one attempt of a pending action. */
interface Attempt {
  readonly run: string
  readonly sinceMs: number
  readonly asked: Set<string>
  /** Failures in a row, also over several requests, and the end of the backoff. */
  readonly failures: number
  readonly backoffUntilMs: number
}

interface ActionContext extends ReconcileContext<LabRecord> {
  readonly record: LabRecord
  readonly pending: Pending
}

/** Seeds: LabRecordReconciler, its actions. The first sweep of a term finds actions that were pending before. */
export function labActions(parts: LabActionParts): Reconciliation {
  const { client, config, changeKeys, clock, logger, meter } = parts
  const attempts = new Map<string, Attempt>()
  return watchTriggeredHostedService<LabRecord, ChangeHint>(
    {
      listResources: signal => pagesOf(page => client.call('listLabs', { query: page, signal })),
      keyOf: record => record.id,
      fetchResource: (id, signal) => fetchLab(client, id, signal),
      needsAttention: record => record.pending_action !== null,
      reconcile: (record, context) => reconcile(parts, attempts, record, context),
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: key => (key.startsWith(LAB_KEYS) ? key.slice(LAB_KEYS.length) : null),
    },
    {
      serviceName: 'lab-actions',
      metricPrefix: 'lablet_controller_lab_actions',
      intervalMs: config.reconcileIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: config.maxConcurrent,
    },
    { prefix: LAB_KEYS },
    { clock, logger, meter },
  )
}

async function reconcile(
  parts: LabActionParts,
  attempts: Map<string, Attempt>,
  record: LabRecord,
  base: ReconcileContext<LabRecord>,
): Promise<ReconciliationResult> {
  const { pending_action: pending } = record
  const { plan } = parts.memory.current()
  if (pending === null) {
    if (record.status !== 'ERROR') attempts.delete(record.id)
    if (record.status === 'DELETED') {
      plan.forget(`lab_record:${record.id}`)
      return gone('the lab is deleted')
    }
    plan.set(`lab_record:${record.id}`, null)
    return success('no action is pending')
  }
  plan.set(`lab_record:${record.id}`, {
    action: pending.action,
    because: reason('lab_action_requested_by', { by: pending.by }),
    due_at: toInstant(parts.clock.now()),
  })
  const action = parts.slots.tryWith(record.worker_id, () =>
    performAction(parts, attempts, { ...base, record, pending }),
  )
  if (action === null) return requeue('all slots of its CML are in use', NO_SLOT_MS)
  try {
    return await action
  } catch (error) {
    if (error instanceof SupersededError) return requeue(error.message, 0)
    throw error
  }
}

const runOf = (epoch: number, { action, at, attempts }: Pending): string => `${epoch}:${action}:${at}:${attempts}`

async function performAction(
  parts: LabActionParts,
  attempts: Map<string, Attempt>,
  context: ActionContext,
): Promise<ReconciliationResult> {
  const { record, pending, epoch, signal } = context
  const worker = await fetchWorker(parts.client, record.worker_id, signal)
  if (worker === null || worker.status === 'TERMINATED') return withoutWorker(parts, context)
  if (!canServeLabs(worker)) return requeue(`${worker.name} does not serve`, WAITING_MS)
  const run = runOf(epoch, pending)
  const attempt = attempts.get(record.id)
  const backoffMs = (attempt?.backoffUntilMs ?? 0) - parts.clock.monotonic()
  if (backoffMs > 0) return requeue(`${pending.action} is retried`, backoffMs)
  if (attempt?.run !== run) {
    // Written by this term before anything is changed, so that an older one can't report on it any more.
    const next = { ...pending, attempts: pending.attempts + 1 }
    const changes = { status: underWay(pending.action, record.status), pending_action: next }
    await write(parts, context, changes, reason('lab_action_started', { action: pending.action }))
    const begun = { run: runOf(epoch, next), sinceMs: parts.clock.monotonic(), asked: new Set<string>() }
    attempts.set(record.id, { ...begun, failures: attempt?.failures ?? 0, backoffUntilMs: 0 })
    return requeue(`${pending.action} is announced`, 0)
  }
  const cmlLabs = cmlLabsFor(parts, context, worker)
  try {
    const waitsFor = await actOn(cmlLabs, context, attempt.asked)
    if (waitsFor === null) return finish(parts, context)
    if (parts.clock.monotonic() - attempt.sinceMs < ATTEMPT_MS_MAX) return requeue(waitsFor.message, UNDER_WAY_MS)
    return failedOnce(parts, attempts, context, `timeout: ${waitsFor.message}`)
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    return failedOnce(parts, attempts, context, error.message)
  }
}

const UNDER_WAY: Readonly<Record<LabAction, LabStatus>> = {
  start: 'STARTING',
  stop: 'STOPPING',
  wipe: 'STOPPING',
  delete: 'DELETING',
}
/** A running lab is stopped before it is wiped, and uses capacity until then. */
const underWay = (action: LabAction, before: LabStatus): LabStatus =>
  action === 'wipe' && isQuiet(before) ? before : UNDER_WAY[action]

const REACHED: Readonly<Record<LabAction, LabStatus>> = {
  start: 'BOOTED',
  stop: 'STOPPED',
  wipe: 'WIPED',
  delete: 'DELETED',
}

function cmlLabsFor(parts: LabActionParts, context: ActionContext, worker: Worker): FencedLabs {
  const { record, signal, leadership, withoutSlot } = context
  const confirm = async () => {
    const now = await fetchLab(parts.client, record.id, signal)
    if (now?.version !== record.version) throw new SupersededError()
  }
  return fencedLabs(parts, { worker, signal, leadership, withoutSlot, confirm })
}

/** Null once the action is done. A missing lab counts as deleted, and fails every other action. */
async function actOn(
  cmlLabs: FencedLabs,
  { record, pending }: ActionContext,
  asked: Set<string>,
): Promise<Reason | null> {
  const { action } = pending
  const lab = record.lab_id === null ? await byTitle(cmlLabs, record) : await cmlLabs.get(record.lab_id)
  if (lab === null) {
    if (action === 'delete') return null
    throw new CloudError('not_found', { code: 'LabGone', action, message: `${record.title} is not on its worker` })
  }
  if (action !== 'start') return takeDownOrWait(cmlLabs, lab, { action, asked })
  if (lab.state !== 'STARTED' && !asked.has('start')) {
    await cmlLabs.start(lab.lab_id)
    asked.add('start')
    return reason('lab_starting', { lab: record.title })
  }
  return (await cmlLabs.isConverged(lab.lab_id)) ? null : reason('lab_booting', { lab: record.title })
}

/** An import whose response was lost is found by its title. */
const byTitle = async (cmlLabs: FencedLabs, { title }: LabRecord) =>
  (await cmlLabs.list()).find(lab => lab.title === title) ?? null

async function takeDownOrWait(
  cmlLabs: FencedLabs,
  lab: NonNullable<Awaited<ReturnType<FencedLabs['get']>>>,
  { action, asked }: { action: Exclude<LabAction, 'start'>; asked: Set<string> },
): Promise<Reason | null> {
  const waitsFor = await tearDownLab(cmlLabs, lab, { depth: action, asked })
  if (waitsFor !== null || action !== 'delete') return waitsFor
  // A deletion counts once CML shows it.
  return (await cmlLabs.get(lab.lab_id)) === null ? null : reason('lab_being_deleted', { lab: lab.title })
}

async function finish(parts: LabActionParts, context: ActionContext): Promise<ReconciliationResult> {
  const { record, pending } = context
  const changes: LabChanges = { status: REACHED[pending.action], pending_action: null, last_error: null }
  await write(parts, context, changes, reason('lab_action_done', { action: pending.action }))
  parts.counters.add('actions_done')
  if (pending.action === 'delete') parts.counters.add('labs_deleted')
  parts.labsChanged(record.worker_id)
  return success(`${pending.action} is done`)
}

async function withoutWorker(parts: LabActionParts, context: ActionContext): Promise<ReconciliationResult> {
  const { pending } = context
  const isDone = pending.action === 'delete'
  const last_error = isDone ? null : `${pending.action}: the worker is gone`
  const changes: LabChanges = { status: isDone ? 'DELETED' : 'ORPHANED', pending_action: null, last_error }
  await write(parts, context, changes, reason('worker_gone'))
  return success('the worker is gone')
}

async function failedOnce(
  parts: LabActionParts,
  attempts: Map<string, Attempt>,
  context: ActionContext,
  message: string,
): Promise<ReconciliationResult> {
  const { record, pending } = context
  const error = message.slice(0, 1000)
  const failures = (attempts.get(record.id)?.failures ?? 0) + 1
  const backoffMs = Math.min(BACKOFF_MS * 2 ** (failures - 1), BACKOFF_MS_MAX)
  const backoffUntilMs = parts.clock.monotonic() + backoffMs
  attempts.set(record.id, { run: '', sinceMs: 0, asked: new Set(), failures, backoffUntilMs })
  const isLast = pending.attempts >= ATTEMPTS_MAX
  const changes: LabChanges = isLast
    ? { status: 'ERROR', pending_action: null, last_error: `${pending.action}: ${error}`.slice(0, 1000) }
    : { pending_action: { ...pending, error } }
  const attempt = { action: pending.action, attempt: pending.attempts, attempts_max: ATTEMPTS_MAX, error }
  await write(parts, context, changes, reason('lab_action_failed', attempt))
  if (isLast) parts.labsChanged(record.worker_id)
  return isLast ? success(error) : requeue(error, backoffMs)
}

const write = (
  { client, election }: LabActionParts,
  { record, pending, epoch, signal }: ActionContext,
  changes: LabChanges,
  because: Reason,
) => {
  const body = { changes, decision: { action: pending.action, because } }
  const call = { params: { id: record.id }, ifMatch: record.version, epoch, signal, body }
  return fencedWrite(election, () => client.call('reportLab', call))
}

import { type Client, unlessMissing } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/list-pages'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import { toInstant } from '@lcm/domain/instant'
import { decideSave, type SaveDecision } from '@lcm/domain/save/decide-save'
import { decideSession, type SessionDecision } from '@lcm/domain/session/decide-session'
import { isEndUnserved, isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { moveStep } from '@lcm/domain/session/session-move-request'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  gone,
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  requeue,
  type Trigger,
  type TriggerContext,
  watch,
  watchTriggeredHostedService,
} from '@lcm/runtime'
import { SupersededError } from '../kit/fenced-write.ts'
import type { LabletDependencies } from './dependencies.ts'
import { type FencedLabs, fencedLabs } from './labs/fenced-labs.ts'
import { observe, type SessionObservation, workerOf } from './observe.ts'
import { performDecision } from './perform.ts'
import { noteOf, type SessionReconcile } from './report.ts'

const SESSION_KEYS = CHANGE_KEYS.sessions
/** Retry delay when all slots of a CML are taken. */
const NO_SLOT_MS = 1_000

/** Seeds: LabletReconciler. Watch-triggered, 30 s; the group that it belongs to is run by the leader only. */
export function sessionReconciler(parts: LabletDependencies): Reconciliation {
  const { client, config, changeKeys, clock, logger, meter } = parts
  return watchTriggeredHostedService<LabletSession, ChangeHint>(
    {
      listResources: signal => pagesOf(page => client.call('listSessions', { query: page, signal })),
      keyOf: session => session.id,
      fetchResource: (id, signal) => unlessMissing(client.call('getSession', { params: { id }, signal })),
      reconcile: (session, context) => reconcileSession(parts, session, context),
      moreTriggers: [workerWatch(parts)],
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: key => (key.startsWith(SESSION_KEYS) ? key.slice(SESSION_KEYS.length) : null),
      isUrgent: hint => hint.status === 'SCHEDULED' || hint.desired_status === 'TERMINATED',
      goesFirst: ({ status = '', desired_status = '' }) => isEndUnserved(status, desired_status),
    },
    {
      serviceName: 'lablet-controller',
      metricPrefix: 'lablet_controller',
      intervalMs: config.reconcileIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: config.maxConcurrent,
    },
    { prefix: SESSION_KEYS },
    { clock, logger, meter },
  )
}

async function reconcileSession(
  parts: LabletDependencies,
  session: LabletSession,
  base: ReconcileContext<LabletSession>,
): Promise<ReconciliationResult> {
  const { client, clock, election, slots } = parts
  if (isFinal(session.status)) return forget(parts, session)
  const context: SessionReconcile = { ...base, client, election, session, clock, startedMs: clock.monotonic() }
  const { worker_id } = session
  const run = () => observeAndAct(parts, context)
  try {
    // The end of a session begins with a write, so it needs no slot of its CML.
    if (worker_id === null || isToEnd(session)) return await run()
    return await (slots.tryWith(worker_id, run) ?? requeue('all slots of its CML are in use', NO_SLOT_MS))
  } catch (error) {
    if (error instanceof SupersededError) return requeue(error.message, 0)
    throw error
  }
}

const isToEnd = ({ status, desired_status }: LabletSession): boolean => isEndUnserved(status, desired_status)

/** Observe, decide, then one write or one step. */
async function observeAndAct(parts: LabletDependencies, context: SessionReconcile): Promise<ReconciliationResult> {
  const worker = await workerOf(context)
  const cmlLabs = worker === null ? null : cmlLabsFor(parts, context, worker)
  const seen = await observe(parts, context, { worker, cmlLabs })
  const decision = decideSession(context.session, seen)
  plan(parts, context.session, decision)
  const result = await performDecision(parts, context, { decision, seen, labs: cmlLabs })
  const { action, because } = decision
  const saving = action.kind === 'wait' ? await saveIfDue(parts, context, seen) : null
  const name = `session:${context.session.id}`
  // A wait has no outcome: the result repeats the reason.
  if (action.kind === 'wait') parts.decisions.note(name, context.epoch, noteOf(context, { action: 'wait', because }))
  if (action.kind === 'write') parts.decisions.written(name, because)
  const isSooner = saving?.kind === 'wait' && result.status === 'REQUEUE' && saving.afterMs < result.afterMs
  return isSooner ? requeue(because.message, saving.afterMs) : result
}

/** A save runs beside the reconciles of its session, which waits for nothing else. */
async function saveIfDue(
  parts: LabletDependencies,
  { session, epoch, leadership, signal }: SessionReconcile,
  { worker, labState, nowMs }: SessionObservation,
): Promise<SaveDecision | null> {
  if (worker === null || labState === null) return null
  const { save_interval_minutes: intervalMinutes } = await parts.settings.read(signal)
  const { saves_enabled: isEnabled } = await parts.definitions.get(session.definition.id, signal)
  const decision = decideSave(session, { isEnabled, intervalMinutes, isLabUp: labState === LAB_UP, nowMs })
  if (decision.kind === 'save')
    parts.saves.request({ session, worker, cause: decision.cause, epoch, leadership, endsAtMs: endOf(parts, session) })
  return decision
}
/** A move waits for the save only so long. */
function endOf({ clock }: LabletDependencies, session: LabletSession): number | null {
  const step = moveStep(session, true, clock.now())
  return step?.kind === 'save' ? clock.monotonic() + step.leftMs : null
}

/** The state of a lab in CML whose nodes run or start. */
const LAB_UP = 'STARTED'

/** Changes are sent only while the session is as it was when they were announced. */
function cmlLabsFor(parts: LabletDependencies, context: SessionReconcile, worker: Worker): FencedLabs {
  const { client, session, signal, leadership, withoutSlot } = context
  const confirm = async () => {
    const now = await client.call('getSession', { params: { id: session.id }, signal })
    if (now.version !== session.version) throw new SupersededError()
  }
  return fencedLabs(parts, { worker, signal, leadership, withoutSlot, confirm })
}

function plan(parts: LabletDependencies, { id }: LabletSession, { action, because }: SessionDecision): void {
  const name = action.kind === 'step' ? action.next.step.name : action.kind
  const due_at = toInstant(parts.clock.now() + (action.kind === 'wait' ? action.afterMs : 0))
  const planned = action.kind === 'nothing' ? null : { action: name, because, due_at }
  parts.memory.current().plan.set(`session:${id}`, planned)
}

function forget({ decisions, memory }: LabletDependencies, { id, status }: LabletSession): ReconciliationResult {
  const { plan, steps, unseenLabs } = memory.current()
  plan.forget(`session:${id}`)
  decisions.forget(`session:${id}`)
  steps.forget(id)
  unseenLabs.forget(id)
  return gone(`${status} is final`)
}

const WORKER_KEYS = CHANGE_KEYS.workers

/**
 * Reconciles the sessions of a worker as soon as it stops or starts serving, or was restarted. The poll finds what this misses.
 */
export function workerWatch<R>({ client, changeKeys }: { client: Client; changeKeys: ChangeKeys }): Trigger<R> {
  const seen = new Map<string, string>()
  const watched = watch<ChangeHint>({
    name: 'worker-watch',
    source: changeKeys.source(WORKER_KEYS),
    parseKey: key => (key.startsWith(WORKER_KEYS) ? key.slice(WORKER_KEYS.length) : null),
    wakes({ id, status, service_status, restarted_at }) {
      const [before, now] = [seen.get(id), `${service_status} ${restarted_at}`]
      seen.set(id, now)
      return status !== 'RUNNING' || service_status !== 'AVAILABLE' || (before !== undefined && before !== now)
    },
  })
  return {
    ...watched,
    run(context) {
      const add = (id: string) => void addSessionsOf(client, id, context)
      seen.clear()
      return watched.run({ ...context, add, forget: () => undefined })
    },
  }
}

async function addSessionsOf<R>(client: Client, id: string, { add, signal, logger }: TriggerContext<R>): Promise<void> {
  try {
    const worker = await unlessMissing(client.call('getWorker', { params: { id }, signal }))
    for (const session of Object.keys(worker?.reservations ?? {})) add(session, 'worker changed')
  } catch (error) {
    logger.debug({ worker: id, err: error }, 'the sessions of a worker are left to the poll')
  }
}

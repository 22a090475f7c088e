import { type Reason, reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { SchedulingStep } from '@lcm/domain/session/scheduling-types'
import { inParallel } from '../kit/in-parallel.ts'
import type { Purchase, Purchases } from './purchases.ts'
import { type CycleReport, MOVED_ON, type ReportParts, type Written } from './report.ts'
import type { SchedulerMemory } from './term-memory.ts'
import { unassign } from './unassign-from-lost-workers.ts'
import { isNewReason, reasonOf } from './waiting-reason.ts'

const WRITES_AT_ONCE = 10
const SESSION_IDS_MAX = 1000

export interface PerformParts extends ReportParts {
  readonly memory: SchedulerMemory
  readonly purchases: Purchases
}

type StepOf<K extends SchedulingStep['kind']> = Extract<SchedulingStep, { kind: K }>

export interface Performed {
  /** By session: why it is due and not placed. */
  readonly reasons: ReadonlyMap<string, Reason>
  /** Planned workers that an operator keeps stopped. */
  readonly held: readonly string[]
}

/** Expires, assigns, resumes workers, requests purchases, and last writes the waiting reasons of all other sessions. */
export async function performSteps(
  parts: PerformParts,
  cycle: CycleReport,
  steps: readonly SchedulingStep[],
): Promise<Performed> {
  const reasons = new Map<string, Reason>()
  await inParallel(ofKind(steps, 'expire'), bySession, step => expire(parts, cycle, step))
  await inParallel(ofKind(steps, 'assign'), byWorker, async step => {
    const lost = await assign(parts, cycle, step)
    if (lost !== null) reasons.set(step.session.id, lost)
  })
  const held: string[] = []
  for (const step of ofKind(steps, 'terminate')) await retire(parts, cycle, step)
  const bought = new Map<string, Purchase>()
  for (const step of ofKind(steps, 'resume')) {
    const refused = await refusedResume(parts, cycle, step)
    if (refused?.code === 'budget_exceeded')
      for (const id of step.session_ids) bought.set(id, { kind: 'refused', because: refused.because })
    else if (refused !== null) held.push(step.worker_id)
  }
  for (const step of ofKind(steps, 'scale_up')) {
    const purchase = await parts.purchases.ask(cycle, step)
    for (const id of step.session_ids) bought.set(id, purchase)
  }
  await inParallel(ofKind(steps, 'wait'), bySession, async step => {
    const purchase = bought.get(step.session.id)
    const because = reasonOf(step, purchase?.kind === 'refused' ? purchase.because : null)
    reasons.set(step.session.id, because)
    // A cycle that is repeated at once, or an unknown purchase, gives no final reason yet.
    if (held.length === 0 && purchase?.kind !== 'left') await writeReason(parts, cycle, step.session, because)
  })
  return { reasons, held }
}

const ofKind = <K extends SchedulingStep['kind']>(steps: readonly SchedulingStep[], kind: K): StepOf<K>[] =>
  steps.filter((step): step is StepOf<K> => step.kind === kind)
const bySession = {
  atOnce: WRITES_AT_ONCE,
  laneOf: ({ session }: { readonly session: LabletSession }): string => session.id,
}
/** Assignments to one worker change one ledger, so they come one after another. */
const byWorker = { atOnce: WRITES_AT_ONCE, laneOf: ({ worker_id }: StepOf<'assign'>): string => worker_id }

/** Null when it was placed or needs no placement any more; else why it was not placed. */
async function assign(parts: PerformParts, cycle: CycleReport, step: StepOf<'assign'>): Promise<Reason | null> {
  const { leaves, worker_id } = step
  const session = leaves === null ? step.session : await unassign(parts, cycle, step.session, leaves)
  if (session === null) return null
  const seen = { version: session.version, start: session.timeslot.start, worker: worker_id }
  const body = { worker_id, decision: cycle.note({ action: 'assign', because: step.because, seen }) }
  const written = await cycle.write(
    call => parts.client.call('assignSession', { ...call, params: { id: session.id }, body }),
    ['no_capacity', ...MOVED_ON],
  )
  if (written === null) return reason('assignment_failed')
  if (written.kind === 'taken') {
    parts.counters.add('assigned')
    parts.memory.wrote(written.answer)
    return null
  }
  if (written.code !== 'no_capacity') return null
  parts.counters.add('lost_races')
  const because = reason('capacity_taken', { cause: written.because })
  parts.decisions.note(`session:${session.id}`, cycle.epoch, cycle.note({ action: 'wait', because, seen }))
  return because
}

async function expire(
  { client, counters, memory }: PerformParts,
  cycle: CycleReport,
  step: StepOf<'expire'>,
): Promise<void> {
  const { session, because } = step
  const seen = { version: session.version, end: session.timeslot.end }
  const body = { changes: { status: 'EXPIRED' as const }, decision: cycle.note({ action: 'expire', because, seen }) }
  const written = await cycle.write(
    call => client.call('reportSession', { ...call, params: { id: session.id }, ifMatch: session.version, body }),
    MOVED_ON,
  )
  if (written?.kind !== 'taken') return
  counters.add('expired')
  memory.wrote(written.answer)
}

type Refused = Extract<Written<unknown>, { kind: 'refused' }>

/** Null when the worker is started, or the outcome is unknown. */
async function refusedResume(
  { client, counters, decisions }: PerformParts,
  cycle: CycleReport,
  { worker_id, session_ids, because }: StepOf<'resume'>,
): Promise<Refused | null> {
  const body = { session_ids: session_ids.slice(0, SESSION_IDS_MAX), reason: because }
  const written = await cycle.write(
    call => client.call('resumeWorker', { ...call, params: { id: worker_id }, body }),
    ['worker_held', 'worker_terminating', 'budget_exceeded', 'not_found'],
  )
  if (written === null) return null
  const outcome = written.kind === 'taken' ? '' : written.because.message
  decisions.note(`worker:${worker_id}`, cycle.epoch, cycle.note({ action: 'resume_for_session', because, outcome }))
  if (written.kind === 'refused') return written
  counters.add('resumed')
  return null
}

/** A worker that the API keeps is not asked for again in this term: it may have labs that the scheduler does not know. */
async function retire(
  { client, counters, decisions, memory }: PerformParts,
  cycle: CycleReport,
  { worker_id, because }: StepOf<'terminate'>,
): Promise<void> {
  const written = await cycle.write(
    call => client.call('retireWorker', { ...call, params: { id: worker_id }, body: { reason: because } }),
    ['worker_held', 'not_found'],
  )
  if (written === null) return
  const outcome = written.kind === 'taken' ? '' : written.because.message
  decisions.note(`worker:${worker_id}`, cycle.epoch, cycle.note({ action: 'terminate', because, outcome }))
  if (written.kind === 'refused') memory.keptWorkers.add(worker_id)
  else counters.add('retired')
}

/** Writes the waiting reason only when it changed. */
async function writeReason(
  parts: PerformParts,
  cycle: CycleReport,
  session: LabletSession,
  because: Reason,
): Promise<void> {
  if (!isNewReason(session.waiting_reason, because)) return
  const decision = cycle.note({ action: 'wait', because, seen: { version: session.version } })
  const body = { changes: { waiting_reason: because }, decision }
  const written = await cycle.write(
    call => parts.client.call('reportSession', { ...call, params: { id: session.id }, ifMatch: session.version, body }),
    MOVED_ON,
  )
  if (written?.kind !== 'taken') return
  parts.counters.add('reasons_written')
  parts.memory.wrote(written.answer)
}

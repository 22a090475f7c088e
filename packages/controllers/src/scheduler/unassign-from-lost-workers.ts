import { type Reason, reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { departureOf } from '@lcm/domain/session/place-again-reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Demand } from './observe.ts'
import { type CycleReport, MOVED_ON, type ReportParts } from './report.ts'
import type { SchedulerMemory } from './term-memory.ts'

export interface LostWorkersParts extends ReportParts {
  readonly memory: SchedulerMemory
}

export interface Unassigned {
  /** All sessions. */
  readonly sessions: readonly LabletSession[]
  /** By session id: why a session leaves its worker as soon as another has capacity. */
  readonly leaving: ReadonlyMap<string, Reason>
  /** Whether a session was unassigned, which releases capacity. */
  readonly hasReturned: boolean
}

/** Unassigns sessions from lost or leaving workers, so they are placed in the same cycle. */
export async function unassignLostWorkers(
  parts: LostWorkersParts,
  cycle: CycleReport,
  { sessions, workers }: Pick<Demand, 'sessions'> & { readonly workers: readonly Worker[] },
  nowMs: number,
): Promise<Unassigned> {
  const byId = new Map(workers.map(worker => [worker.id, worker]))
  const returned = new Map<string, LabletSession>()
  const leaving = new Map<string, Reason>()
  for (const session of sessions) {
    const departure = departureOf(session, byId.get(session.worker_id ?? '') ?? null, nowMs)
    if (departure === null) continue
    if (departure.needsCapacity) leaving.set(session.id, departure.because)
    else returned.set(session.id, (await unassign(parts, cycle, session, departure.because)) ?? session)
  }
  return { sessions: sessions.map(each => returned.get(each.id) ?? each), leaving, hasReturned: returned.size > 0 }
}

/**
 * The API releases its capacity with this write, unless a lab of the session may still run there; then it stays reserved
 * until a scan has seen it gone. Null when the session stays as it is.
 */
export async function unassign(
  { client, counters, memory }: LostWorkersParts,
  cycle: CycleReport,
  session: LabletSession,
  cause: Reason,
): Promise<LabletSession | null> {
  const seen = { version: session.version, worker: session.worker_id }
  const hadLab = session.status !== 'SCHEDULED'
  const decision = hadLab
    ? cycle.note({ action: 'move', because: reason('session_moved', { cause }), seen })
    : cycle.note({ action: 'return_to_pending', because: reason('session_placed_again', { cause }), seen })
  const waiting_reason = hadLab ? reason('moved_session_waits', { cause }) : cause
  const body = { changes: { status: 'PENDING' as const, worker_id: null, waiting_reason }, decision }
  const written = await cycle.write(
    call => client.call('reportSession', { ...call, params: { id: session.id }, ifMatch: session.version, body }),
    MOVED_ON,
  )
  if (written?.kind !== 'taken') return null
  counters.add(hadLab ? 'moved' : 'returned')
  memory.wrote(written.answer)
  return written.answer
}

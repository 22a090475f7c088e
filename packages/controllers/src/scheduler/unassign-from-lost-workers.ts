import { type Reason, reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { placeAgainReason } from '@lcm/domain/session/place-again-reason'
import type { Demand } from './observe.ts'
import { type CycleReport, MOVED_ON, type ReportParts } from './report.ts'
import type { SchedulerMemory } from './term-memory.ts'

export interface LostWorkersParts extends ReportParts {
  readonly memory: SchedulerMemory
}

/** Unassigns sessions from lost or leaving workers, so they are placed in the same cycle. Returns all sessions. */
export async function unassignLostWorkers(
  parts: LostWorkersParts,
  cycle: CycleReport,
  bookings: Demand,
  nowMs: number,
): Promise<readonly LabletSession[]> {
  const returned = new Map<string, LabletSession>()
  for (const lost of lostSessions(bookings, nowMs)) {
    const session = await takeOff(parts, cycle, lost)
    if (session !== null) returned.set(session.id, session)
  }
  return bookings.sessions.map(each => returned.get(each.id) ?? each)
}

interface Lost {
  readonly session: LabletSession
  readonly because: Reason
}

/** Sessions without a lab on a worker that was lost or is leaving. */
function lostSessions({ sessions, workers: hosts }: Demand, nowMs: number): Lost[] {
  const byId = new Map(hosts.map(worker => [worker.id, worker]))
  return sessions
    .filter(({ status, desired_status }) => status === 'SCHEDULED' && desired_status === 'RUNNING')
    .flatMap(session => {
      const because = placeAgainReason(byId.get(session.worker_id ?? '') ?? null, nowMs)
      return because === null ? [] : [{ session, because }]
    })
}

/**
 * The API releases its capacity with this write, unless a lab of the session may still run there; then it stays reserved
 * until a scan has seen it gone. Null when the session stays as it is.
 */
async function takeOff(
  { client, counters, memory }: LostWorkersParts,
  cycle: CycleReport,
  { session, because }: Lost,
): Promise<LabletSession | null> {
  const seen = { version: session.version, worker: session.worker_id }
  const decision = cycle.note({
    action: 'return_to_pending',
    because: reason('session_placed_again', { cause: because }),
    seen,
  })
  const body = { changes: { status: 'PENDING' as const, worker_id: null, waiting_reason: because }, decision }
  const written = await cycle.write(
    call => client.call('reportSession', { ...call, params: { id: session.id }, ifMatch: session.version, body }),
    MOVED_ON,
  )
  if (written?.kind !== 'taken') return null
  counters.add('returned')
  memory.wrote(written.answer)
  return written.answer
}

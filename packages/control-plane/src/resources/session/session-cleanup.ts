import { afterSession } from '@lcm/domain/fleet/activity-evidence'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { cleanUpLab, labsOf, mayUseCapacity } from '../lab/lab-cleanup.ts'
import { listAll } from '../list-documents.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeSession, isPlacedOn } from './change-session.ts'
import { holdReservation } from './session-reservation.ts'

/**
 * Releases reservations that a session doesn't use any more, and cleans up its unused labs. The labs are read first: a lab that
 * the session gets after it is read is not among them.
 */
export async function cleanUpSession(api: Api, id: string): Promise<void> {
  const labs = await listAll(api.labs, { where: { session_id: id } })
  const session = await api.sessions.get(id)
  for (const lab of labs) await cleanUpLab(api, lab, session)
  for (const worker of await workersReservedBy(api, id)) await releaseReservation(api, worker, id)
}

export const workersReservedBy = (api: Api, sessionId: string): Promise<Worker[]> =>
  listAll(api.workers, { where: { [`session:${sessionId}`]: 'reserved' } })

/**
 * Releases a reservation without a session: of an interrupted assignment, or one that the session left. It stays while a lab
 * of that session may run there. An assignment in progress is invalidated first: it writes the worker, then the session at the
 * version that it read.
 */
export async function releaseReservation(api: Api, worker: Worker, sessionId: string): Promise<void> {
  const session = await api.sessions.get(sessionId)
  if (isPlacedOn(session, worker.id)) return
  const labs = await labsOf(api, worker.id, sessionId)
  if (worker.status !== 'TERMINATED' && labs.some(mayUseCapacity)) {
    await hold(api, worker.id, sessionId)
    return
  }
  if (session !== null && !isFinal(session.status) && (await setBack(api, session)) === null) return
  await nullOnConflict(
    changeWorker(api, asSystem(worker.id, worker.version), (current, now) =>
      current.reservations[sessionId] === undefined
        ? null
        : { worker: afterSession(current, sessionId, session?.worker_id === worker.id ? session : null, now) },
    ),
  )
}

/** The capacity of a lab that may run without its session is not promised to others for any time. */
const hold = (api: Api, workerId: string, sessionId: string): Promise<unknown> =>
  nullOnConflict(
    changeWorker(api, asSystem(workerId), worker =>
      worker.reservations[sessionId]?.until == null ? null : { worker: holdReservation(worker, sessionId) },
    ),
  )

/** Increments the version and changes nothing else. */
const setBack = (api: Api, session: LabletSession): Promise<LabletSession | null> =>
  nullOnConflict(
    changeSession(api, session.id, asSystem(session.id, session.version), current => ({ session: current })),
  )

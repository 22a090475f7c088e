import { afterSession } from '@lcm/domain/fleet/activity'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../http/api.ts'
import { byHouse, unlessOvertaken } from '../../system-actor.ts'
import { labsOf, mayTakeRoom, settleLab } from '../lab/lab-cleanup.ts'
import { everyPage } from '../list-documents.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeSession, isAt } from './change-session.ts'

/** Finishes what a session left behind: room that it does not count on any more, and labs that nobody needs. */
export async function settleSession(api: Api, id: string): Promise<void> {
  const session = await api.sessions.get(id)
  for (const lab of await everyPage(api.labs, { where: { session_id: id } })) await settleLab(api, lab, session)
  for (const worker of await holdersOf(api, id)) await settleRoom(api, worker, id)
}

export const holdersOf = (api: Api, sessionId: string): Promise<Worker[]> =>
  everyPage(api.workers, { where: { [`session:${sessionId}`]: 'reserved' } })

/**
 * Room that is in the book for a session which is not there: an assignment that was cut short, or one that the session left.
 * It stays as long as a lab of that session may run there. An assignment that is under way is sent back to its beginning first:
 * it writes the worker, then the session at the version that it had read.
 */
export async function settleRoom(api: Api, worker: Worker, sessionId: string): Promise<void> {
  const session = await api.sessions.get(sessionId)
  if (isAt(session, worker.id)) return
  const labs = await labsOf(api, worker.id, sessionId)
  if (worker.status !== 'TERMINATED' && labs.some(mayTakeRoom)) return
  if (session !== null && !isFinal(session.status) && (await setBack(api, session)) === null) return
  await unlessOvertaken(
    changeWorker(api, byHouse(worker.id, worker.version), (current, now) =>
      current.reservations[sessionId] === undefined
        ? null
        : { worker: afterSession(current, sessionId, session?.worker_id === worker.id ? session : null, now) },
    ),
  )
}

/** Takes it one version further and changes nothing else. */
const setBack = (api: Api, session: LabletSession): Promise<LabletSession | null> =>
  unlessOvertaken(
    changeSession(api, session.id, byHouse(session.id, session.version), current => ({ session: current })),
  )

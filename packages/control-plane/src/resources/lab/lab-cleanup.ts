import { type Instant, toMs } from '@lcm/domain/instant'
import { isQuiet, type LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { listAll } from '../list-documents.ts'
import { isPlacedOn } from '../session/change-session.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeLab } from './change-lab.ts'
import { isLabGone, isLabUsable } from './is-lab-usable.ts'

export const labsOf = (api: Api, workerId: string, sessionId: string): Promise<LabRecord[]> =>
  listAll(api.labs, { where: { worker_id: workerId, session_id: sessionId } })

/** Whether the lab may run, or is being imported: unknown counts as used. */
export const mayUseCapacity = (lab: LabRecord): boolean =>
  !isQuiet(lab.status) || (lab.status === 'DEFINED' && lab.lab_id === null)

/**
 * Cleans up a lab that its session doesn't use: ports are released once it is gone; until then it is deleted, or kept for
 * reuse.
 */
export async function cleanUpLab(api: Api, lab: LabRecord, session: LabletSession | null): Promise<void> {
  if (session !== null && isPlacedOn(session, lab.worker_id) && session.lab_record_id === lab.id) return
  if (isLabGone(lab)) return releasePorts(api, lab)
  if (session !== null && isPlacedOn(session, lab.worker_id) && session.lab_record_id === null) return
  if (session !== null && isFinal(session.status) && (await isKeptForReuse(api, lab))) return unbindLab(api, lab)
  // A deletion that failed just now is not retried at once.
  if (lab.status === 'ERROR' && api.clock.now() - toMs(lab.updated_at) < AFTER_ERROR_MS) return
  await requestDeletion(api, lab)
}

/** Whether its session uses this lab, or is about to. */
export async function isOwnLab(api: Api, lab: LabRecord): Promise<boolean> {
  const session = lab.session_id === null ? null : await api.sessions.get(lab.session_id)
  if (session === null || !isPlacedOn(session, lab.worker_id)) return lab.session_id === null
  return session.lab_record_id === lab.id || session.lab_record_id === null
}

/** A lab that reappears after its session got another one must be deleted. */
export const deleteIfSuperseded = (lab: LabRecord, isOwn: boolean, now: Instant): LabRecord =>
  isOwn || !isLabUsable(lab) || lab.status === 'ERROR' ? lab : { ...lab, pending_action: deletion(NOT_HERE, now) }

const NOT_HERE = 'its session is not here any more'
const NOT_WANTED = 'its definition cannot be booked any more'
const AFTER_ERROR_MS = 10 * 60_000

const deletion = (why: string, at: Instant) => ({
  action: 'delete' as const,
  by: `${SYSTEM_ACTOR.name}: ${why}`,
  at,
  attempts: 0,
  error: null,
})

/** WIPED or STOPPED, of a definition with `lab_reuse`. */
export async function isKeptForReuse(api: Api, lab: LabRecord): Promise<boolean> {
  if (lab.status !== 'WIPED' && lab.status !== 'STOPPED') return false
  if (lab.definition_id === null || lab.pending_action !== null) return false
  return (await api.definitions.get(lab.definition_id))?.lab_reuse === true
}

/** Detaches the lab, so that another session may claim it. */
export async function unbindLab(api: Api, lab: LabRecord): Promise<void> {
  await releasePorts(api, lab)
  await nullOnConflict(
    changeLab(api, asSystem(lab.id, lab.version), current =>
      current.session_id === null ? null : { lab: { ...current, session_id: null, ports: {} } },
    ),
  )
}

/** Whether the lab was kept for reuse and is idle. Labs that people created or started are theirs. */
export const isReusable = (lab: LabRecord): boolean =>
  lab.source === 'IMPORT' &&
  lab.session_id === null &&
  lab.pending_action === null &&
  isQuiet(lab.status) &&
  !isLabGone(lab)

/** Requests the deletion of a lab that no session can reuse: its version can't be booked, and no booked session is left. */
export async function deleteUnlessBookable(api: Api, lab: LabRecord): Promise<void> {
  const { definition_id } = lab
  if (definition_id === null) return
  if ((await api.definitions.get(definition_id))?.status === 'ACTIVE') return
  if ((await api.sessions.list({ where: { definition_id, is_over: 'no' }, limit: 1 })).length > 0) return
  await nullOnConflict(
    changeLab(api, asSystem(lab.id), (current, now) =>
      isReusable(current) ? { lab: { ...current, pending_action: deletion(NOT_WANTED, now) } } : null,
    ),
  )
}

/** Requests the deletion, whatever else was pending. */
async function requestDeletion(api: Api, lab: LabRecord): Promise<void> {
  await nullOnConflict(
    changeLab(api, asSystem(lab.id), (current, now) => {
      if (isLabGone(current) || current.pending_action?.action === 'delete') return null
      return { lab: { ...current, pending_action: deletion(NOT_HERE, now) } }
    }),
  )
}

export async function releasePorts(api: Api, lab: LabRecord): Promise<void> {
  await nullOnConflict(
    changeWorker(api, asSystem(lab.worker_id), worker => {
      if (worker.ports[lab.id] === undefined) return null
      const { [lab.id]: _, ...ports } = worker.ports
      return { worker: { ...worker, ports } }
    }),
  )
}

import type { BodyOf } from '@lcm/contract/routes'
import { type MeasuredDuration, measuredTeardown } from '@lcm/domain/calendar/measured-duration'
import { afterSession } from '@lcm/domain/fleet/activity-evidence'
import { isQuiet } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { auditEntry } from '../journal/entries.ts'
import { isLabGone } from '../lab/is-lab-usable.ts'
import { isKeptForReuse, labsOf, mayUseCapacity, unbindLab } from '../lab/lab-cleanup.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { recordDuration } from '../timing/record-duration.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeSession, type SessionRequest } from './change-session.ts'
import { findSession } from './queries.ts'
import { cleanUpSession } from './session-cleanup.ts'
import { holdReservation } from './session-reservation.ts'

type ReleaseRequest = SessionRequest<BodyOf<'releaseSession'>>

/**
 * Releases capacity and ports after the controller saw the lab stop, then updates the session. A session that is placed and
 * running releases only what it left elsewhere. Repeating it changes nothing.
 */
export async function releaseSession(api: Api, request: ReleaseRequest): Promise<LabletSession> {
  const session = await findSession(api, request.params.id)
  raiseDocumentFence(session, request)
  if (isDown(session) && session.worker_id !== null) await releaseCapacity(api, request, session, session.worker_id)
  await cleanUpSession(api, session.id)
  const writer = { ...request, ifMatch: null, once: null }
  return changeSession(api, session.id, writer, (current, now) => {
    if (!isDown(current) || current.access.length === 0) return null
    return {
      session: { ...current, access: [], fence: raiseDocumentFence(current, request) },
      entries: [auditEntry(request.actor, 'release', now, { reason: request.body.reason })],
    }
  })
}

const isDown = ({ status }: LabletSession): boolean => status === 'STOPPING' || status === 'STOPPED' || isFinal(status)

async function releaseCapacity(
  api: Api,
  request: ReleaseRequest,
  session: LabletSession,
  workerId: string,
): Promise<void> {
  const { id } = session
  const labs = await labsOf(api, workerId, id)
  const writer = { ...request, params: { id: workerId }, ifMatch: null, once: null }
  let teardown: MeasuredDuration | null = null
  await nullOnConflict(
    changeWorker(api, writer, (worker, now) => {
      // Capacity is released only as far as the lab records confirm it.
      const isQuarantined = worker.status !== 'TERMINATED' && labs.some(mayUseCapacity)
      const free = isQuarantined ? holdReservation(worker, id) : afterSession(worker, id, session, now)
      teardown = isQuarantined || free === worker ? null : measuredTeardown(session, now)
      const over = labs.filter(lab => isQuiet(lab.status) && worker.ports[lab.id] !== undefined)
      if (free === worker && over.length === 0) return null
      const ports = Object.fromEntries(
        Object.entries(worker.ports).filter(([owner]) => !over.some(lab => lab.id === owner)),
      )
      return { worker: { ...free, ports, fence: raiseDocumentFence(worker, request) } }
    }),
  )
  await recordDuration(api, request, teardown)
  for (const lab of labs) if (!isLabGone(lab) && (await isKeptForReuse(api, lab))) await unbindLab(api, lab)
}

import { ProblemError, refusedBy } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { type Demand, demandOf, place, withoutReservation, withReservation } from '@lcm/domain/session/placement'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { decisionEntry } from '../journal/entries.ts'
import { labsOf, mayUseCapacity } from '../lab/lab-cleanup.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { findWorker } from '../worker/queries.ts'
import { changeSession, type SessionRequest } from './change-session.ts'
import { findSession } from './queries.ts'
import { cleanUpSession } from './session-cleanup.ts'

type AssignRequest = SessionRequest<BodyOf<'assignSession'>>

/** Each lost race means that another writer changed the session. */
const RACES_MAX = 20

/**
 * Reserves capacity on the worker first, then writes the session. A crash between the two leaves a reservation that the next
 * attempt uses or releases, never a session without capacity. The placement is checked again inside the compare-and-set on the
 * worker.
 */
export async function assignSession(api: Api, request: AssignRequest): Promise<LabletSession> {
  const { worker_id } = request.body
  await findWorker(api, worker_id)
  for (let race = 0; race < RACES_MAX; race++) {
    const found = await findSession(api, request.params.id)
    if (found.status === 'SCHEDULED' && found.worker_id === worker_id) return found
    refuseAssignment(found)
    await cleanUpSession(api, found.id)
    const session = await findSession(api, found.id)
    refuseAssignment(session)
    await reserve(api, request, session)
    const assigned = await scheduled(api, request, session)
    if (assigned !== null) return assigned
  }
  throw new ProblemError('store_unavailable', `session ${request.params.id} is written too often; try again`)
}

function refuseAssignment({ status, desired_status }: LabletSession): void {
  if (status !== 'PENDING') throw new ProblemError('illegal_transition', `it is ${status}; only PENDING is placed`)
  if (desired_status === 'TERMINATED') throw new ProblemError('illegal_transition', 'it was canceled')
}

async function reserve(api: Api, request: AssignRequest, session: LabletSession): Promise<void> {
  const { worker_id } = request.body
  const definition = await api.definitions.get(session.definition.id)
  if (definition === null) throw new ProblemError('no_capacity', `its definition ${session.definition.name} is gone`)
  const demand = { ...demandOf(definition, session.id), needs: session.needs }
  if ((await labsOf(api, worker_id, session.id)).some(mayUseCapacity))
    throw new ProblemError('no_capacity', `what it had on ${worker_id} before may still run there`)
  const writer = { ...request, params: { id: worker_id }, ifMatch: null, once: null }
  await changeWorker(api, writer, (worker, now) => {
    refuseWithoutCapacity(demand, worker, session.id)
    // Written even when the reservation exists: a concurrent release must notice.
    const reserved = withReservation(worker, session.id, session.needs, now)
    const wanted_by = worker.wanted_by.filter(id => id !== session.id)
    return { worker: { ...reserved, wanted_by, fence: raiseDocumentFence(worker, request) } }
  })
}

function refuseWithoutCapacity(demand: Demand, worker: Worker, sessionId: string): void {
  const [refusal] = place(demand, [withoutReservation(worker, sessionId)]).refusals
  if (refusal !== undefined)
    throw refusedBy('no_capacity', reason('placement_refused', { worker: worker.name, cause: refusal.because }))
}

/** Null when the session was changed since it was read; its reservation is released then. */
async function scheduled(api: Api, request: AssignRequest, session: LabletSession): Promise<LabletSession | null> {
  const { worker_id, decision } = request.body
  const writer = { ...request, ifMatch: session.version, once: null }
  try {
    return await changeSession(api, session.id, writer, (current, now) => ({
      session: {
        ...current,
        status: 'SCHEDULED',
        worker_id,
        waiting_reason: null,
        fence: raiseDocumentFence(current, request),
      },
      entries: [decisionEntry(decision, { service: request.actor.service ?? '', epoch: request.epoch }, now)],
      because: decision.because,
    }))
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    await cleanUpSession(api, session.id)
    if (error.code === 'version_mismatch') return null
    throw error
  }
}

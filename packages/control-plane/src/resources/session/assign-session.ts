import { ProblemError, refusedBy } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type Span, spanOf } from '@lcm/domain/calendar/span'
import type { Timings } from '@lcm/domain/calendar/timings'
import {
  type LedgerTime,
  ledgerTime,
  timesOf,
  withoutReservation,
  withReservation,
} from '@lcm/domain/calendar/worker-ledger'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { type Demand, demandOf } from '@lcm/domain/session/demand'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { place } from '@lcm/domain/session/placement'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { decisionEntry } from '../journal/entries.ts'
import { labsOf, mayUseCapacity } from '../lab/lab-cleanup.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
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
  const timings = await currentTimings(api)
  const span = await spanOfRequest(api, request, { session, definition, timings })
  const demand = { ...demandOf(definition, session.id, span), needs: session.needs }
  if ((await labsOf(api, worker_id, session.id)).some(mayUseCapacity))
    throw new ProblemError('no_capacity', `what it had on ${worker_id} before may still run there`)
  const writer = { ...request, params: { id: worker_id }, ifMatch: null, once: null }
  await changeWorker(api, writer, (worker, now) => {
    refuseWithoutCapacity(demand, worker, ledgerTime(toMs(now), timings))
    // Written even when the reservation exists: a concurrent release must notice.
    const reserved = withReservation(worker, session.id, session.needs, timesOf(span, now))
    const wanted_by = worker.wanted_by.filter(id => id !== session.id)
    return { worker: { ...reserved, wanted_by, fence: raiseDocumentFence(worker, request) } }
  })
}

/** From the start of its lab, or from now on, until its lab is gone after the timeslot. */
async function spanOfRequest(
  api: Api,
  { body }: AssignRequest,
  { session, definition, timings }: { session: LabletSession; definition: LabletDefinition; timings: Timings },
): Promise<Span> {
  const booked = spanOf(session, definition, timings, await currentSettings(api))
  const span = {
    fromMs: body.from === undefined ? Math.max(booked.fromMs, api.clock.now()) : toMs(body.from),
    untilMs: body.until === undefined ? booked.untilMs : toMs(body.until),
  }
  if (span.untilMs < toMs(session.timeslot.end) || span.fromMs >= span.untilMs)
    throw new ProblemError('validation_failed', 'body.until: it must be after `from`, and not before the timeslot ends')
  return span
}

function refuseWithoutCapacity(demand: Demand, worker: Worker, time: LedgerTime): void {
  const [refusal] = place(demand, [withoutReservation(worker, demand.session_id ?? '')], time).refusals
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

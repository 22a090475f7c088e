import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { yieldToOthers } from '../definition/definition-content.ts'
import { readTopology } from '../definition/topology/read-topology.ts'
import { ID_RANDOM_BYTES, makeId } from '../ids.ts'
import { transitionEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeSession, isPlacedOn, type SessionRequest } from '../session/change-session.ts'
import { findSession } from '../session/queries.ts'
import { cleanUpSession } from '../session/session-cleanup.ts'
import { changeLab } from './change-lab.ts'
import { isLabUsable } from './is-lab-usable.ts'
import { countLabs } from './queries.ts'

type BindRequest = SessionRequest<BodyOf<'bindLab'>>
type Bound = LabletSession & { readonly worker_id: string }

/**
 * The lab is recorded with its session before it exists; then the session names it. The same session gets the same record
 * again, so that an interrupted controller continues with it.
 */
export async function bindLab(api: Api, request: BindRequest): Promise<LabRecord> {
  const session = await findSession(api, request.params.id)
  raiseDocumentFence(session, request)
  const { worker_id } = session
  if (session.status !== 'INSTANTIATING' || worker_id === null)
    throw new ProblemError('illegal_transition', `it is ${session.status}; only INSTANTIATING is given a lab`)
  const bound = { ...session, worker_id }
  const lab = await ownLab(api, request, bound)
  await pointAt(api, request, bound, lab)
  await countLabs(api, worker_id)
  return lab
}

async function ownLab(api: Api, request: BindRequest, session: Bound): Promise<LabRecord> {
  const all = await listAll(api.labs, { where: { session_id: session.id } })
  const current = all.find(lab => lab.worker_id === session.worker_id && isLabUsable(lab))
  if (current !== undefined) return completed(api, request, current)
  const { record_id } = request.body
  return record_id === null ? recorded(api, request, session, all.length) : claimed(api, request, session, record_id)
}

/** Adds CML's id once it is known. */
async function completed(api: Api, request: BindRequest, lab: LabRecord): Promise<LabRecord> {
  const { lab_id } = request.body
  if (lab_id === null || lab.lab_id === lab_id) return lab
  if (lab.lab_id !== null)
    throw new ProblemError('lab_in_use', `its lab on ${lab.worker_id} is ${lab.lab_id}, not ${lab_id}`)
  await forgetDiscovered(api, lab.worker_id, lab_id)
  return changeLab(api, { ...request, params: { id: lab.id }, ifMatch: null }, (current, now) => ({
    lab: { ...current, lab_id, last_seen_at: now, fence: raiseDocumentFence(current, request) },
  }))
}

/** A scan of the worker may have recorded the lab before it was bound. */
async function forgetDiscovered(api: Api, workerId: string, labId: string): Promise<void> {
  const there = await listAll(api.labs, { where: { worker_id: workerId } })
  const found = there.find(lab => lab.lab_id === labId && lab.source === 'DISCOVERY' && lab.session_id === null)
  if (found !== undefined) await api.labs.remove(found)
}

/** Compare-and-set on the record: two sessions never get the same lab. */
function claimed(api: Api, request: BindRequest, session: Bound, id: string): Promise<LabRecord> {
  const target = { ...request, params: { id }, ifMatch: null }
  return changeLab(api, target, (lab, now) => {
    if (lab.worker_id !== session.worker_id || lab.definition_id !== session.definition.id)
      throw new ProblemError('lab_in_use', `${lab.title} is not a lab of ${session.definition.name} on its worker`)
    if (lab.status !== 'WIPED' && lab.status !== 'STOPPED')
      throw new ProblemError('lab_gone', `${lab.title} is ${lab.status}; only WIPED or STOPPED labs are used again`)
    if (lab.session_id !== null || lab.pending_action !== null)
      throw new ProblemError('lab_in_use', `${lab.title} is used by ${lab.session_id ?? 'another session'}`)
    return { lab: { ...lab, session_id: session.id, last_seen_at: now, fence: raiseDocumentFence(lab, request) } }
  })
}

/** Its id is derived from the session and this start of its lab, so that concurrent inserts create one. */
async function recorded(api: Api, request: BindRequest, session: Bound, n: number): Promise<LabRecord> {
  const { lab_id, title } = request.body
  const start = `${session.id}|${session.worker_id}|${session.entered_status_at}|${n}`
  const chance = createHash('sha256').update(start).digest()
  const now = toInstant(api.clock.now())
  const lab: LabRecord = {
    ...EMPTY_LAB,
    id: makeId('lr', toMs(session.created_at), chance.subarray(0, ID_RANDOM_BYTES)),
    created_at: now,
    updated_at: now,
    worker_id: session.worker_id,
    lab_id,
    title,
    source: 'IMPORT',
    definition_id: session.definition.id,
    ...(await sizeOf(api, session)),
    session_id: session.id,
    first_seen_at: now,
    last_seen_at: now,
    fence: raiseDocumentFence({ id: session.id, fence: {} }, request),
  }
  if (lab_id !== null) await forgetDiscovered(api, session.worker_id, lab_id)
  const move = {
    from: null,
    to: lab.status,
    at: now,
    because: reason('lab_created_for_session', { session_id: session.id }),
  }
  const result = await api.labs.insert(lab, [transitionEntry(move, request.actor.name)])
  if (result.ok) return lab
  const other = await api.labs.get(lab.id)
  if (other?.session_id === session.id) return other
  throw new ProblemError('lab_in_use', `session ${session.id} has another lab, or another record has that one`)
}

/** Size that CML will report after the import. */
async function sizeOf(api: Api, session: Bound): Promise<Pick<LabRecord, 'node_count' | 'link_count'>> {
  const text = (await api.definitions.get(session.definition.id))?.topology ?? ''
  const reading = await readTopology(text, yieldToOthers(api))
  if (!reading.ok) return { node_count: session.needs.node_count, link_count: 0 }
  return { node_count: reading.topology.nodes.length, link_count: reading.topology.links.length }
}

/** A lab before its first report. */
export const EMPTY_LAB = {
  version: 1,
  owner: null,
  status: 'DEFINED',
  raw_state: null,
  link_count: 0,
  nodes: [],
  ports: {},
  pending_action: null,
  last_error: null,
  runs: [],
  applied_keys: [],
} satisfies Partial<LabRecord>

/** A session that was moved meanwhile doesn't want the lab any more. */
async function pointAt(api: Api, request: BindRequest, session: Bound, lab: LabRecord): Promise<void> {
  const writer = { ...request, ifMatch: null, once: null }
  const written = await changeSession(api, session.id, writer, current => {
    if (!isPlacedOn(current, lab.worker_id) || current.lab_record_id === lab.id) return null
    return { session: { ...current, lab_record_id: lab.id, fence: raiseDocumentFence(current, request) } }
  })
  if (written.lab_record_id === lab.id) return
  await cleanUpSession(api, session.id)
  throw new ProblemError('illegal_transition', `it is ${written.status} by now, and wants no lab`)
}

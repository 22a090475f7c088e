import type { RouteName } from '@lcm/contract/routes'
import type { ApiResponse } from '@lcm/contract/wire'
import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import { LabRecord, statusOfLab, statusOfMissing } from '@lcm/domain/lab/lab-record'
import { allocatePorts } from '@lcm/domain/lab/ports'
import { canMoveSession, isFinal, LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { json, problem, type Received } from '@lcm/testkit/api-calls'
import { asView } from '@lcm/testkit/builders'
import type { FakeState } from './fake-api.ts'

type Answering = (state: FakeState, call: Received) => ApiResponse

const NO_CONTENT: ApiResponse = { status: 204, headers: {}, body: null }
const NOT_FOUND = problem(404, 'not_found')

const found = (thing: object | undefined): ApiResponse => (thing === undefined ? NOT_FOUND : json(200, thing))
const page = (items: readonly object[]): ApiResponse => json(200, { items, next_cursor: null, revision: '1' })
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const fieldsOf = (value: unknown) => Object.fromEntries(Object.entries(Object(value)))

export const ANSWERS: Partial<Record<RouteName, Answering>> = {
  getSettings: () => {
    const shown = Object.entries(SETTING_DEFAULTS).map(([name, value]) => [name, { value, source: 'default' }])
    return json(200, { version: 0, updated_at: null, settings: Object.fromEntries(shown) })
  },
  getWorkerSecrets: () => json(200, { license_token: null, cml_username: null, cml_password: null }),
  recordDecisions: () => NO_CONTENT,
  listWorkers: ({ workers }) => page([...workers.values()].map(asView)),
  getWorker: ({ workers }, { id }) => {
    const worker = workers.get(id)
    return found(worker === undefined ? undefined : asView(worker))
  },
  listSessions: ({ sessions }) => page([...sessions.values()].filter(({ status }) => !isFinal(status))),
  getSession: ({ sessions }, { id }) => found(sessions.get(id)),
  reportSession,
  releaseSession,
  bindLab,
  listLabs: ({ labs }, { query }) =>
    page(
      [...labs.values()].filter(
        lab =>
          lab.status !== 'DELETED' &&
          (query.get('worker_id') ?? lab.worker_id) === lab.worker_id &&
          (query.get('session_id') ?? lab.session_id) === lab.session_id,
      ),
    ),
  getLab: ({ labs }, { id }) => found(labs.get(id)),
  allocatePorts: takePorts,
  reportLab,
  discoverLabs,
  listDefinitions: ({ definitions }) => page([...definitions.values()].map(({ topology: _, ...rest }) => rest)),
  getDefinition: ({ definitions }, { id }) => found(definitions.get(id)),
  recordSync,
}

const SERVICE = 'lablet-controller'

function reportSession(state: FakeState, { id, body, ifMatch, epoch }: Received): ApiResponse {
  const before = state.sessions.get(id)
  if (before === undefined) return NOT_FOUND
  if ((epoch ?? 0) < (before.fence[SERVICE] ?? 0)) return problem(409, 'stale_leader')
  if (before.version !== ifMatch) return problem(412, 'version_mismatch')
  const changes = fieldsOf(body.changes)
  const now = toInstant(state.clock.now())
  const after = LabletSession.parse({ ...before, ...changes, version: before.version + 1, updated_at: now })
  const hasMoved = after.status !== before.status
  if (hasMoved && !canMoveSession(before.status, after.status)) return problem(409, 'illegal_transition')
  const because = text(fieldsOf(body.decision).because)
  const moved = { from: before.status, to: after.status, at: now, because }
  return json(
    200,
    state.saveSession({
      ...after,
      fence: { ...after.fence, [SERVICE]: epoch ?? 0 },
      lab_record_id: after.worker_id === null ? null : after.lab_record_id,
      entered_status_at: hasMoved ? now : before.entered_status_at,
      state_history: hasMoved ? [...before.state_history, moved] : before.state_history,
    }),
  )
}

function releaseSession(state: FakeState, { id }: Received): ApiResponse {
  const session = state.sessions.get(id)
  if (session === undefined) return NOT_FOUND
  for (const worker of state.workers.values()) {
    if (worker.reservations[id] === undefined) continue
    const { [id]: _, ...reservations } = worker.reservations
    const gone = [...state.labs.values()].filter(lab => lab.session_id === id)
    const ports = Object.entries(worker.ports).filter(([owner]) => !gone.some(lab => lab.id === owner))
    saveWorker(state, { ...worker, reservations, ports: Object.fromEntries(ports) })
  }
  for (const lab of state.labs.values())
    if (lab.session_id === id && lab.worker_id === session.worker_id) saveLab(state, { ...lab, session_id: null })
  return json(200, session)
}

const saveWorker = ({ workers }: FakeState, worker: Worker) =>
  void workers.set(worker.id, { ...worker, version: worker.version + 1 })

function saveLab({ labs, clock }: FakeState, lab: LabRecord): LabRecord {
  const saved = LabRecord.parse({ ...lab, version: lab.version + 1, updated_at: toInstant(clock.now()) })
  labs.set(lab.id, saved)
  return saved
}

function bindLab(state: FakeState, { id, body }: Received): ApiResponse {
  const session = state.sessions.get(id)
  if (session === undefined) return NOT_FOUND
  if (session.status !== 'INSTANTIATING' || session.worker_id === null) return problem(409, 'illegal_transition')
  const record = boundLab(state, session, fieldsOf(body))
  if (record === null) return problem(409, 'lab_in_use')
  if (session.lab_record_id !== record.id)
    state.saveSession({ ...session, lab_record_id: record.id, version: session.version + 1 })
  return json(200, record)
}

function boundLab(state: FakeState, session: LabletSession, body: Record<string, unknown>): LabRecord | null {
  const all = [...state.labs.values()]
  if (typeof body.record_id === 'string') {
    const claimed = state.labs.get(body.record_id)
    if (claimed === undefined || (claimed.session_id !== null && claimed.session_id !== session.id)) return null
    return saveLab(state, { ...claimed, session_id: session.id })
  }
  const own = all.find(
    lab => lab.session_id === session.id && lab.worker_id === session.worker_id && lab.status !== 'DELETED',
  )
  const lab_id = typeof body.lab_id === 'string' ? body.lab_id : null
  if (own !== undefined && lab_id === null) return own
  if (own !== undefined) {
    if (own.lab_id !== null && own.lab_id !== lab_id) return null
    for (const lab of all) if (lab.lab_id === lab_id && lab.source === 'DISCOVERY') state.labs.delete(lab.id)
    return saveLab(state, { ...own, lab_id, status: 'DEFINED' })
  }
  return saveLab(state, {
    ...aLabRecord(state, newId(state), session.worker_id ?? ''),
    lab_id,
    title: text(body.title),
    source: 'IMPORT',
    definition_id: session.definition.id,
    session_id: session.id,
  })
}

const newId = ({ labs }: FakeState): string => {
  const numbers = [...labs.keys()].map(id => Number(id.slice('lr-'.length)))
  return `lr-${Math.max(0, ...numbers) + 1}`
}

const aLabRecord = ({ clock }: Pick<FakeState, 'clock'>, id: string, worker_id: string): LabRecord => {
  const now = toInstant(clock.now())
  return {
    ...{ id, version: 0, created_at: now, updated_at: now, worker_id, lab_id: null, title: '', owner: null },
    ...{ source: 'DISCOVERY', definition_id: null, status: 'DEFINED', raw_state: null, node_count: 0, link_count: 0 },
    ...{ nodes: [], ports: {}, session_id: null, pending_action: null, last_error: null, runs: [], fence: {} },
    ...{ first_seen_at: now, last_seen_at: now, applied_keys: [] },
  }
}

function takePorts(state: FakeState, { id, body }: Received): ApiResponse {
  const lab = state.labs.get(id)
  const worker = state.workers.get(lab?.worker_id ?? '')
  const definition = state.definitions.get(lab?.definition_id ?? '')
  if (lab === undefined || worker === undefined || definition === undefined) return NOT_FOUND
  const used = Object.values(worker.ports).flatMap(ports => Object.values(ports))
  const taken = new Set([...used, ...(Array.isArray(body.taken) ? body.taken : [])])
  const ports = allocatePorts(definition.port_template, worker.ports[id] ?? {}, taken)
  if (ports === null) return problem(409, 'no_capacity')
  saveWorker(state, { ...worker, ports: { ...worker.ports, [id]: ports } })
  saveLab(state, { ...lab, ports })
  return json(200, { ports })
}

function reportLab(state: FakeState, { id, body, ifMatch, epoch }: Received): ApiResponse {
  const lab = state.labs.get(id)
  if (lab === undefined) return NOT_FOUND
  if ((epoch ?? 0) < (lab.fence[SERVICE] ?? 0)) return problem(409, 'stale_leader')
  if (lab.version !== ifMatch) return problem(412, 'version_mismatch')
  return json(200, saveLab(state, { ...lab, ...fieldsOf(body.changes), fence: { [SERVICE]: epoch ?? 0 } }))
}

function discoverLabs(state: FakeState, { body }: Received): ApiResponse {
  const worker_id = text(body.worker_id)
  const seen = (Array.isArray(body.labs) ? body.labs : []).map(fieldsOf)
  const lab_ids = new Set(seen.map(lab => text(lab.lab_id)))
  const known = [...state.labs.values()].filter(lab => lab.worker_id === worker_id)
  for (const { lab_id, title, state: raw, node_count, nodes } of seen) {
    const before = known.find(lab => lab.lab_id === lab_id)
    const blank = aLabRecord(state, newId(state), worker_id)
    const now = toInstant(state.clock.now())
    saveLab(state, {
      ...(before ?? { ...blank, title: text(title) }),
      lab_id: text(lab_id),
      raw_state: text(raw),
      node_count: Number(node_count),
      nodes: Array.isArray(nodes) ? nodes : (before?.nodes ?? []),
      status: statusOfLab(text(raw), before?.status ?? null),
      last_seen_at: now,
    })
  }
  const scan = { began_at: text(body.began_at), is_complete: body.is_complete === true, isAwaited: true }
  for (const lab of known) {
    const status = statusOfMissing(lab, { ...scan, isSeen: lab.lab_id !== null && lab_ids.has(lab.lab_id) })
    if (status !== null) saveLab(state, { ...lab, status, pending_action: null })
  }
  const worker = state.workers.get(worker_id)
  const asked = worker?.labs_refresh_requested_at ?? null
  if (worker !== undefined && asked !== null && scan.is_complete && asked < scan.began_at)
    saveWorker(state, { ...worker, labs_refresh_requested_at: null })
  return json(200, { created: 0, updated: 0, orphaned: 0 })
}

function recordSync({ definitions, clock }: FakeState, { id, body }: Received): ApiResponse {
  const definition = definitions.get(id)
  if (definition === undefined) return NOT_FOUND
  if (body.source !== definition.source || body.requested_at !== definition.sync.at) return json(200, definition)
  const result = fieldsOf(body.result)
  const at = toInstant(clock.now())
  const error = text(result.error) || null
  const sync = { status: error === null ? 'success' : 'failed', error, at, package_sha256: text(result.package_sha256) }
  const topology = error === null ? result.topology : definition.topology
  const saved = LabletDefinition.parse({ ...definition, sync, topology, version: definition.version + 1 })
  definitions.set(id, saved)
  return json(200, saved)
}

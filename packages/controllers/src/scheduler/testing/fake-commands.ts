import type { ApiResponse } from '@lcm/contract/wire'
import { toMs } from '@lcm/domain/instant'
import { canMoveSession, type LabletSession, LabletSession as Session } from '@lcm/domain/session/lablet-session'
import { demandOf, place } from '@lcm/domain/session/placement'
import { workerOfTemplate } from '@lcm/domain/worker/new-worker'
import type { Worker } from '@lcm/domain/worker/worker'
import { json, problem, type Received } from '@lcm/testkit/api-calls'
import { asView } from '@lcm/testkit/builders'
import type { State } from './fake-api.ts'

const SessionChanges = Session.partial()

/** Takes the room first, then tells the session; whoever asks again gets the same. */
export function assignSession(state: State, { id, body }: Received): ApiResponse {
  const workerId = String(body.worker_id)
  if (!state.sessions.has(id) || !state.workers.has(workerId)) return problem(404, 'not_found')
  const found = known(state.sessions, id)
  if (found.status === 'SCHEDULED' && found.worker_id === workerId) return json(200, found)
  if (found.status !== 'PENDING') return problem(409, 'illegal_transition')
  settle(state, id)
  if (state.labs.has(`${workerId} ${id}`)) return problem(409, 'no_capacity', 'what it had there may still run')
  const session = known(state.sessions, id)
  const worker = known(state.workers, workerId)
  const definition = known(state.definitions, session.definition.id)
  const [refusal] = place({ ...demandOf(definition, id), needs: session.needs }, [worker]).refusals
  if (refusal !== undefined) return problem(409, 'no_capacity', refusal.because)
  const { node_count: nodes, ...needs } = session.needs
  const reservation = { ...needs, nodes, since: state.now() }
  saveWorker(state, { ...worker, ...ledgerOf(worker, { ...worker.reservations, [id]: reservation }) })
  return moved(state, session, { status: 'SCHEDULED', worker_id: worker.id, waiting_reason: null })
}

function known<T>(all: ReadonlyMap<string, T>, id: string): T {
  const found = all.get(id)
  if (found === undefined) throw new Error(`there is no ${id}`)
  return found
}

/** Gives back what a session does not count on any more, unless a lab of it may run there. */
function settle(state: State, id: string): void {
  for (const worker of state.workers.values()) {
    const mayRun = worker.status !== 'TERMINATED' && state.labs.has(`${worker.id} ${id}`)
    if (worker.reservations[id] === undefined || known(state.sessions, id).worker_id === worker.id || mayRun) continue
    moved(state, known(state.sessions, id), {})
    saveWorker(state, { ...worker, ...ledgerOf(worker, without(worker.reservations, id)) })
  }
}

export function reportSession(state: State, { id, body, ifMatch }: Received): ApiResponse {
  const session = state.sessions.get(id)
  if (session === undefined) return problem(404, 'not_found')
  if (session.version !== ifMatch) return problem(412, 'version_mismatch')
  const changes = SessionChanges.parse(body.changes)
  if (changes.status !== undefined && !canMoveSession(session.status, changes.status))
    return problem(409, 'illegal_transition')
  const said = Object.fromEntries(Object.entries(changes).filter(([name]) => isSaid(body, name)))
  const answer = moved(state, session, said)
  if (known(state.sessions, id).worker_id === null) settle(state, id)
  return answer
}
const isSaid = ({ changes }: Received['body'], name: string): boolean =>
  typeof changes === 'object' && changes !== null && name in changes

export function resumeWorker(state: State, { id }: Received): ApiResponse {
  const worker = state.workers.get(id)
  if (worker === undefined) return problem(404, 'not_found')
  if (worker.desired_by === 'a person') return problem(409, 'worker_held')
  const pause = { ...worker.pause, reason: null, by: null, last_resumed_at: state.now() }
  const resumed = saveWorker(state, { ...worker, desired_status: 'RUNNING', pause })
  return json(200, asView(resumed))
}

/** One flight at a time for each template and region, and never more than the region may have. */
export function scaleUp(state: State, { body }: Received): ApiResponse {
  const place = `${String(body.template_name)}/${String(body.aws_region)}`
  const last = state.flights.get(place)
  if (last?.key !== body.key) {
    const refusal = refusalOf(state, place, Number(body.count))
    if (refusal !== null) return problem(409, 'scale_up_rejected', refusal)
    const ids = Array.from({ length: Number(body.count) }, () => bought(state, body).id)
    state.flights.set(place, { key: String(body.key), atMs: toMs(state.now()), ids })
  }
  const flight = state.flights.get(place)
  const workers = flight?.ids.flatMap(id => state.workers.get(id) ?? []) ?? []
  return json(201, { workers: workers.map(asView), because: `flight ${String(body.key)}` })
}

function refusalOf(state: State, place: string, count: number): string | null {
  const present = [...state.workers.values()].filter(({ status }) => status !== 'TERMINATED').length
  const max = Number(state.settings.get('max_workers_per_region') ?? 10)
  if (present + count > max) return `${present} workers are there, ${count} more would exceed ${max}`
  const last = state.flights.get(place)
  if (last === undefined) return null
  const waitS = 300 - Math.floor((toMs(state.now()) - last.atMs) / 1000)
  if (waitS > 0) return `the next may begin in ${waitS} s`
  const over = ['RUNNING', 'FAILED', 'TERMINATED', 'STOPPED']
  const isUnderWay = last.ids.some(id => !over.includes(state.workers.get(id)?.status ?? 'TERMINATED'))
  return isUnderWay ? 'the last flight is under way' : null
}

function bought(state: State, { template_name, aws_region, session_ids }: Received['body']): Worker {
  const template = state.templates.get(String(template_name))
  if (template === undefined) throw new Error('no such template')
  const id = `w-new-${state.workers.size + 1}`
  return saveWorker(state, {
    ...workerOfTemplate(id, template, state.now()),
    aws_region: String(aws_region),
    origin: 'SCALE_UP',
    wanted_by: Array.isArray(session_ids) ? session_ids.map(String) : [],
  })
}

type Ledger = Worker['reservations']

const without = (ledger: Ledger, id: string): Ledger =>
  Object.fromEntries(Object.entries(ledger).filter(([each]) => each !== id))

/** The sum is what is in the book. */
export function ledgerOf(worker: Worker, reservations: Ledger): Pick<Worker, 'reservations' | 'capacity'> {
  const sum = (name: 'cpu_cores' | 'memory_gb' | 'storage_gb' | 'nodes') =>
    Object.values(reservations).reduce((total, each) => total + each[name], 0)
  const reserved = {
    cpu_cores: sum('cpu_cores'),
    memory_gb: sum('memory_gb'),
    storage_gb: sum('storage_gb'),
    nodes: sum('nodes'),
  }
  return { reservations, capacity: { ...worker.capacity, reserved } }
}

export function saveWorker(state: State, worker: Worker): Worker {
  const saved = { ...worker, version: worker.version + 1 }
  state.workers.set(saved.id, saved)
  state.changed('workers', saved.id)
  return saved
}

function moved(state: State, session: LabletSession, changes: Partial<LabletSession>): ApiResponse {
  const now = state.now()
  const isMove = changes.status !== undefined && changes.status !== session.status
  const entry = { from: session.status, to: changes.status ?? session.status, at: now, because: '' }
  const saved = {
    ...session,
    ...changes,
    version: session.version + 1,
    updated_at: now,
    ...(isMove ? { entered_status_at: now, state_history: [...session.state_history, entry] } : {}),
  }
  state.sessions.set(saved.id, saved)
  state.changed('sessions', saved.id)
  return json(200, saved)
}

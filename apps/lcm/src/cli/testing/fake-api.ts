import { UnreachableError } from '@lcm/client/api-error'
import { type EventEnvelope, writeSse } from '@lcm/contract/events'
import { PROBLEM_MEDIA_TYPE, type ProblemCode, ProblemError } from '@lcm/contract/problems'
import { API_PREFIX } from '@lcm/contract/routes'
import { SIM_CONTROL_PATH } from '@lcm/contract/system'
import { PutTemplate } from '@lcm/contract/template'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import { CreateWorker, PatchWorker } from '@lcm/contract/worker'
import type { DecisionRecord } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import { type WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Token } from '@lcm/domain/token'
import type { Drain } from '@lcm/domain/worker/parts'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import { asView } from '@lcm/testkit/builders'
import { answerFleet, answerSim, type FakeFleet, fakeFleet } from './fake-fleet.ts'
import { type Answer, answerLablets, fakeLablets, type Lablets } from './fake-lablets.ts'
import { aTemplate, aWorker, START_MS } from './samples.ts'

/** The API as the CLI sees it: workers in a map, a log of events, and a plug that can be pulled. */
export interface FakeApi {
  readonly dispatch: Dispatch
  /** What was asked, such as `POST /workers`. */
  readonly requests: string[]
  readonly bodies: unknown[]
  put(worker: Worker): void
  putTemplate(template: WorkerTemplate): void
  readonly tokens: Token[]
  /** Definitions, sessions and labs. */
  readonly lablets: Lablets
  /** Services, leaks, audit, cost, and the simulated cloud. */
  readonly fleet: FakeFleet
  /** Tells what belongs to no version, such as how busy workers are. */
  tell(event: EventEnvelope): void
  /** What controllers decided, newest first, and what they are going to do. */
  readonly decisions: DecisionRecord[]
  readonly plan: (PlannedAction & { service: string })[]
  /** A new version of a worker, with its event. */
  change(id: string, changes: Partial<Worker>): void
  remove(id: string): void
  /** Until `restart` nobody answers; open streams break. */
  crash(): void
  restart(): void
  /** Only streams are refused; reads still work. */
  refuseStreams(isSo: boolean): void
  /** Forgets the log: whoever resumes is told to read again. */
  compact(): void
  /** Resolves once the API serves its n-th stream. */
  stream(n: number): Promise<void>
  /** Resolves once a request of this kind was answered, counted from the beginning. */
  answered(request: string, times?: number): Promise<void>
}

const TOKEN = 'secret'

interface State {
  readonly workers: Map<string, Worker>
  readonly templates: Map<string, WorkerTemplate>
  readonly tokens: Token[]
  readonly lablets: Lablets
  readonly fleet: FakeFleet
  readonly log: EventEnvelope[]
  readonly decisions: DecisionRecord[]
  readonly plan: (PlannedAction & { service: string })[]
  readonly requests: string[]
  readonly bodies: unknown[]
  readonly answers: string[]
  compactedTo: number
  streams: number
  generation: number
  isDown: boolean
  refusesStreams: boolean
  waiting: (() => void)[]
}

const wake = (state: State): void => {
  const waiting = state.waiting
  state.waiting = []
  for (const resume of waiting) resume()
}

async function until(state: State, condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>(resolve => state.waiting.push(resolve))
}

export function fakeApi(): FakeApi {
  const state: State = {
    workers: new Map(),
    templates: new Map(),
    tokens: [],
    lablets: fakeLablets(event => {
      state.log.push(event)
      wake(state)
    }),
    fleet: fakeFleet(),
    log: [],
    decisions: [],
    plan: [],
    requests: [],
    bodies: [],
    answers: [],
    compactedTo: 0,
    streams: 0,
    generation: 0,
    isDown: false,
    refusesStreams: false,
    waiting: [],
  }
  const set = (changes: Partial<State>) => {
    Object.assign(state, changes)
    wake(state)
  }
  return {
    dispatch: request => dispatch(state, request),
    requests: state.requests,
    bodies: state.bodies,
    decisions: state.decisions,
    plan: state.plan,
    lablets: state.lablets,
    tokens: state.tokens,
    fleet: state.fleet,
    tell(event) {
      state.log.push(event)
      wake(state)
    },
    put: worker => write(state, worker, 'worker.created'),
    putTemplate: template => state.templates.set(template.name, template),
    change(id, changes) {
      const before = state.workers.get(id) ?? aWorker()
      write(state, { ...before, ...changes, version: before.version + 1 }, 'worker.updated')
    },
    remove(id) {
      const { version, updated_at } = state.workers.get(id) ?? aWorker()
      state.workers.delete(id)
      state.log.push({ type: 'worker.deleted', id, version: version + 1, at: updated_at, data: null })
      wake(state)
    },
    crash: () => set({ isDown: true, generation: state.generation + 1 }),
    restart: () => set({ isDown: false }),
    refuseStreams: isSo => set({ refusesStreams: isSo, generation: state.generation + 1 }),
    compact: () => set({ compactedTo: state.log.length, generation: state.generation + 1 }),
    stream: n => until(state, () => state.streams >= n),
    answered: (request, times = 1) =>
      until(state, () => state.answers.filter(each => each === request).length >= times),
  }
}

function write(state: State, worker: Worker, type: 'worker.created' | 'worker.updated'): void {
  state.workers.set(worker.id, worker)
  state.log.push({ type, id: worker.id, version: worker.version, at: worker.updated_at, data: asView(worker) })
  wake(state)
}

async function dispatch(state: State, request: ApiRequest): Promise<ApiResponse> {
  const url = new URL(request.url, 'http://fake')
  const name = `${request.method} ${url.pathname.slice(API_PREFIX.length)}`
  state.requests.push(name)
  if (state.isDown) throw new UnreachableError('the fake is down')
  if (request.body !== null) state.bodies.push(JSON.parse(request.body))
  try {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) refuse('unauthenticated', 'this token is unknown')
    if (url.pathname.startsWith(`${SIM_CONTROL_PATH}/`)) {
      const path = url.pathname.slice(SIM_CONTROL_PATH.length)
      return answered(answerSim(state.fleet, { method: request.method, path, body: request.body }), '')
    }
    return name === 'GET /events' ? openStream(state, request) : answer(state, name, url, request.body)
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const problem = error.toProblem(url.pathname)
    return { status: problem.status, headers: { 'content-type': PROBLEM_MEDIA_TYPE }, body: JSON.stringify(problem) }
  } finally {
    state.answers.push(name)
    wake(state)
  }
}

function refuse(code: ProblemCode, detail: string): never {
  throw new ProblemError(code, detail)
}

const NOTHING: ApiResponse = { status: 204, headers: {}, body: null }

const json = (status: number, body: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

function answer(state: State, name: string, url: URL, body: string | null): ApiResponse {
  const revision = String(state.log.length)
  const list = (items: readonly unknown[]) => json(200, { items, next_cursor: null, revision })
  if (name === 'GET /workers') return list(listWorkers(state, url.searchParams))
  if (name === 'POST /workers') return json(201, createWorker(state, body))
  if (name === 'GET /worker-templates') return list([...state.templates.values()])
  if (name === 'POST /worker-templates') return json(201, createTemplate(state, body))
  if (name === 'GET /fleet/plan') return json(200, { at: aWorker().created_at, items: state.plan })
  if (name === 'POST /login-links') return json(201, { url: '/login?code=abc', expires_in_seconds: 600 })
  if (name === 'GET /tokens') return list(state.tokens)
  if (name.startsWith('DELETE /tokens/')) return NOTHING
  if (name === 'POST /tokens') return json(201, { id: 'tk-1', secret: 'lcm_secret' })
  if (name === 'DELETE /services/worker-controller/term') return NOTHING
  const path = url.pathname.slice(API_PREFIX.length)
  const [, kind, id = '', verb] = path.split('/')
  if (verb === 'decisions') return list(state.decisions.slice(0, Number(url.searchParams.get('limit'))))
  const [method = ''] = name.split(' ')
  const asked = { method, path, query: url.searchParams, body }
  const found = answerFleet(state.fleet, asked) ?? answerLablets(state.lablets, asked)
  if (found !== null) return answered(found, revision)
  if (kind === 'worker-templates') return onTemplate(state, id, { method, verb, body })
  const worker = state.workers.get(id) ?? refuse('not_found', `there is no worker ${id}`)
  if (verb === undefined && name.startsWith('GET')) return json(200, worker)
  if (name.startsWith('PATCH')) return json(200, patchWorker(state, worker, body))
  if (name.startsWith('PATCH')) return json(200, rewrite(state, worker, JSON.parse(body ?? '{}')))
  if (verb === 'credentials') return NOTHING
  return verb === undefined ? deleteWorker(state, worker) : json(202, act(state, worker, { name, verb, body }))
}

function listWorkers(state: State, query: URLSearchParams): Worker[] {
  const [status, desired, q] = [query.get('status'), query.get('desired_status'), query.get('q') ?? '']
  const all = query.get('include_terminated') === 'true' || status !== null
  return [...state.workers.values()].filter(
    worker =>
      worker.name.includes(q) &&
      (all || worker.status !== 'TERMINATED') &&
      (status === null || worker.status === status) &&
      (desired === null || worker.desired_status === desired),
  )
}

function createWorker(state: State, body: string | null): Worker {
  const asked = CreateWorker.safeParse(JSON.parse(body ?? ''))
  if (!asked.success) {
    const errors = asked.error.issues.map(({ path, message }) => ({ path: ['body', ...path].join('.'), message }))
    throw new ProblemError('validation_failed', 'the request does not match its schema', errors)
  }
  const { template_name, name = 'metal-new', aws_region = 'us-east-1' } = asked.data
  if (!state.templates.has(template_name)) refuse('template_not_found', `there is no template ${template_name}`)
  const worker = aWorker({ id: 'w-0abcdefgh0009', name, aws_region, template_name })
  write(state, worker, 'worker.created')
  return worker
}

function createTemplate(state: State, body: string | null): WorkerTemplate {
  const template = aTemplate(WorkerTemplateSpec.parse(JSON.parse(body ?? '')))
  if (state.templates.has(template.name)) refuse('already_exists', `template ${template.name} exists`)
  state.templates.set(template.name, template)
  return template
}

interface OnTemplate {
  readonly method: string
  readonly verb: string | undefined
  readonly body: string | null
}

function onTemplate(state: State, name: string, { method, verb, body }: OnTemplate): ApiResponse {
  const template = state.templates.get(name) ?? refuse('not_found', `there is no template ${name}`)
  if (method === 'GET') return json(200, template)
  if (method === 'DELETE') {
    state.templates.delete(name)
    return NOTHING
  }
  const spec = verb === undefined ? PutTemplate.parse(JSON.parse(body ?? '')) : { enabled: verb === 'enable' }
  const { user_data: _, ...fields } = { user_data: null, ...spec }
  const changed = { ...template, ...fields, version: template.version + 1 }
  state.templates.set(name, changed)
  return json(verb === undefined ? 200 : 202, changed)
}

function patchWorker(state: State, worker: Worker, body: string | null): Worker {
  const { license, ...fields } = PatchWorker.parse(JSON.parse(body ?? ''))
  const changed = { ...worker, ...fields, license: { ...worker.license, ...license }, version: worker.version + 1 }
  write(state, changed, 'worker.updated')
  return changed
}

const DESIRED: Readonly<Record<string, DesiredStatus>> = { start: 'RUNNING', stop: 'STOPPED', terminate: 'TERMINATED' }

function answered(found: Answer, revision: string): ApiResponse {
  if ('list' in found) return json(found.status, { items: found.list, next_cursor: null, revision })
  return found.status === 204 ? NOTHING : json(found.status, found.body)
}

function rewrite(state: State, worker: Worker, changes: Partial<Worker>): Worker {
  const changed = { ...worker, ...changes, version: worker.version + 1 }
  write(state, changed, 'worker.updated')
  return changed
}

interface Verb {
  readonly name: string
  readonly verb: string
  readonly body: string | null
}

function act(state: State, worker: Worker, { name, verb, body }: Verb): Worker {
  const given = JSON.parse(body ?? '{}')
  if (verb === 'drain') return rewrite(state, worker, { status: 'DRAINING', drain: drainOf(worker, given) })
  if (verb === 'cancel-drain') return rewrite(state, worker, { drain: null })
  if (verb === 'license') {
    const pending_operation = name.startsWith('PUT') ? 'register' : 'deregister'
    return rewrite(state, worker, {
      license: { ...worker.license, product: given.product ?? worker.license.product, pending_operation },
    })
  }
  if (verb === 'terminate' && worker.protected) refuse('worker_protected', `${worker.name} is protected`)
  if (verb === 'retry' && worker.status !== 'FAILED') refuse('worker_not_failed', `${worker.name} is ${worker.status}`)
  const desired_status = DESIRED[verb] ?? 'RUNNING'
  const status = verb === 'retry' ? 'PENDING' : worker.status
  return rewrite(state, worker, { status, desired_status })
}

/** Four hours, if nothing else is said. */
function drainOf(worker: Worker, given: Record<string, unknown>): Drain {
  if (worker.status !== 'RUNNING') refuse('worker_not_running', `${worker.name} is ${worker.status}; it must run`)
  const { timeout_seconds = 14_400, reason = '' } = given
  const deadline = toInstant(START_MS + Number(timeout_seconds) * 1000)
  const end = given.then === 'TERMINATED' ? 'TERMINATED' : 'STOPPED'
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  return { requested_at: worker.updated_at, by: 'ann', reason: String(reason), then: end, deadline }
}

function deleteWorker(state: State, worker: Worker): ApiResponse {
  if (worker.status !== 'TERMINATED')
    refuse('worker_not_terminated', `${worker.name} is ${worker.status}; terminate it first`)
  state.workers.delete(worker.id)
  return NOTHING
}

function openStream(state: State, request: ApiRequest): ApiResponse {
  if (state.refusesStreams) refuse('too_many_clients', 'too many event streams are open')
  const after = Number(request.headers['last-event-id'] ?? state.log.length)
  const { generation } = state
  const isBroken = () => state.generation !== generation
  state.streams += 1
  const body = stream(state, { after, isBroken, signal: request.signal })
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body }
}

interface Subscription {
  readonly after: number
  readonly isBroken: () => boolean
  readonly signal: AbortSignal
}

async function* stream(state: State, { after, isBroken, signal }: Subscription): AsyncGenerator<string> {
  signal.addEventListener('abort', () => wake(state))
  if (after < state.compactedTo) yield writeSse({ id: null, data: '{"type":"reset","at":"2026-01-01T00:00:00.000Z"}' })
  for (let at = Math.max(after, state.compactedTo); ; at++) {
    await until(state, () => signal.aborted || isBroken() || at < state.log.length)
    if (signal.aborted) return
    if (isBroken()) throw new UnreachableError('the stream broke')
    yield writeSse({ id: String(at + 1), data: JSON.stringify(state.log[at]) })
  }
}

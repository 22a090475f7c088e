import { type EventEnvelope, writeSse } from '@lcm/contract/events'
import { PROBLEM_MEDIA_TYPE, type ProblemCode, ProblemError } from '@lcm/contract/problems'
import { API_PREFIX } from '@lcm/contract/routes'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { asView } from '@lcm/testkit/builders'

const PAGE_ITEMS = 2
const AT = '2026-01-02T03:04:05.000Z'

/** In-process API for tests: serves lists, actions and one event stream, with configurable failures. */
export class FakeApi {
  /** `no-stream`: everything works but events. `mute`: streams open and bring nothing. */
  mode: 'up' | 'down' | 'signed-out' | 'no-stream' | 'mute' = 'up'
  role = 'admin'
  signIn: string | undefined
  refusal: { code: ProblemCode; detail: string } | null = null
  templates: WorkerTemplate[] = []
  readonly workers = new Map<string, Worker>()
  /** The position after which each stream was opened. */
  readonly openedAfter: string[] = []
  /** Path and query of every request but those for events. */
  readonly requests: string[] = []
  #position = 100
  #stream: { write(text: string): void; end(): void } | null = null

  readonly transport: Dispatch = async request => {
    if (this.mode === 'down') throw new Error('nobody answers')
    if (this.mode === 'signed-out') return refused('unauthenticated', 'sign in first', this.signIn)
    const url = new URL(request.url.slice(API_PREFIX.length), 'http://fake')
    if (url.pathname === '/events') return this.#follow(request)
    this.requests.push(`${request.method} ${url.pathname}${url.search}`)
    return request.method === 'GET' ? this.#read(url) : this.#act(url, request)
  }

  /** Stores a worker and announces it. */
  put(worker: Worker): void {
    this.workers.set(worker.id, worker)
    this.announce({ type: 'worker.updated', id: worker.id, version: worker.version, at: AT, data: asView(worker) })
  }

  remove(id: string, version: number): void {
    this.workers.delete(id)
    this.announce({ type: 'worker.deleted', id, version, at: AT, data: null })
  }

  announce(event: EventEnvelope): void {
    this.#position++
    this.say(event, String(this.#position))
  }

  /** Sends an event, true or not, without changing anything. */
  say(event: object, id: string | null = null): void {
    if (this.mode !== 'mute') this.#stream?.write(writeSse({ id, data: JSON.stringify(event) }))
  }

  heartbeat(): void {
    this.say({ type: 'heartbeat', at: AT })
  }

  breakStream(): void {
    this.#stream?.end()
  }

  #follow(request: ApiRequest): ApiResponse {
    if (this.mode === 'no-stream') return refused('too_many_clients', 'too many event streams are open')
    this.openedAfter.push(request.headers['last-event-id'] ?? 'now')
    const { body, write, end } = openStream(request.signal)
    this.#stream = { write, end }
    this.heartbeat()
    return { status: 200, headers: {}, body }
  }

  #read(url: URL): ApiResponse {
    const revision = String(this.#position)
    if (url.pathname === '/info') return json(200, this.#info())
    if (url.pathname === '/worker-templates') return json(200, { items: this.templates, next_cursor: null, revision })
    if (url.pathname !== '/workers') return json(200, { items: [], next_cursor: null, revision })
    const from = Number(url.searchParams.get('cursor') ?? 0)
    const items = [...this.workers.values()].slice(from, from + PAGE_ITEMS)
    const next = from + PAGE_ITEMS < this.workers.size ? String(from + PAGE_ITEMS) : null
    return json(200, { items, next_cursor: next, revision })
  }

  #info() {
    const actor = { name: 'somebody', role: this.role }
    return { version: '0.1.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'], sim_control: null, actor }
  }

  /** Promises the next version but does not announce it: that is for the test to do. */
  #act(url: URL, request: ApiRequest): ApiResponse {
    if (this.refusal) return refused(this.refusal.code, this.refusal.detail)
    const [worker] = this.workers.values()
    if (!worker) return refused('not_found', 'there is no worker')
    if (url.pathname === '/workers') return json(201, { ...worker, ...JSON.parse(request.body ?? '{}'), id: 'w-new' })
    return json(202, { ...worker, version: worker.version + 1 })
  }
}

function openStream(signal: AbortSignal) {
  const waiting: string[] = []
  let isOver = false
  let wake = () => {
    isOver ||= signal.aborted
  }
  signal.addEventListener('abort', () => wake())
  async function* body() {
    while (!signal.aborted) {
      const text = waiting.shift()
      if (text !== undefined) yield text
      else if (isOver) return
      else await new Promise<void>(resolve => (wake = resolve))
    }
  }
  const write = (text: string) => {
    waiting.push(text)
    wake()
  }
  const end = () => {
    isOver = true
    wake()
  }
  return { body: body(), write, end }
}

const json = (status: number, body: object): ApiResponse => ({ status, headers: {}, body: JSON.stringify(body) })

const refused = (code: ProblemCode, detail: string, signIn?: string): ApiResponse => {
  const problem = new ProblemError(code, detail, undefined, signIn === undefined ? {} : { signIn }).toProblem('/')
  return { ...json(problem.status, problem), headers: { 'content-type': PROBLEM_MEDIA_TYPE } }
}

import { UnreachableError } from '@lcm/client/api-error'
import { apiClient, type Client } from '@lcm/client/client'
import { ROUTES, type RouteName } from '@lcm/contract/routes'
import type { ApiRequest, ApiResponse } from '@lcm/contract/wire'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { json, paged, problem, type Received, receivedOf, settingsShown } from '@lcm/testkit/api-calls'
import { asView } from '@lcm/testkit/builders'
import { assignSession, reportSession, resumeWorker, scaleUp } from './fake-commands.ts'

export interface State {
  readonly sessions: Map<string, LabletSession>
  readonly workers: Map<string, Worker>
  readonly definitions: Map<string, LabletDefinition>
  readonly templates: Map<string, WorkerTemplate>
  /** What operators have set; anything else is at its default. */
  readonly settings: Map<string, unknown>
  /** The last flight of each template and region. */
  readonly flights: Map<string, { readonly key: string; readonly atMs: number; readonly ids: readonly string[] }>
  /** Worker and session of each lab that may still run. */
  readonly labs: Set<string>
  /** Records that a cleanup would remove. */
  readonly old: string[]
  now(): string
  /** Tells everybody that it changed. */
  changed(kind: 'sessions' | 'workers', id: string): void
}

/** The API as a scheduler meets it: ledgers, guarded writes, one flight at a time, and bad days on demand. */
export interface FakeApi extends State {
  readonly client: Client
  readonly received: Received[]
  readonly faults: Faults
  callsOf(name: RouteName): readonly Received[]
  /** All that changes sessions or workers. */
  writes(): readonly Received[]
}

export interface Faults {
  /** The next call of that name is refused so. */
  refuse(name: RouteName, status: number, code: string): void
  /** Makes the API unreachable, or reachable again. */
  setAway(isAway: boolean): void
  /** Is called before every answer, for what others do meanwhile. What it throws is what the caller gets. */
  beforeAnswer(listener: (call: Received) => void | Promise<void>): void
  /** Is called when the write is done, and its answer is not given yet. */
  afterWrite(listener: (call: Received) => void): void
  /** Terms before this one are over. */
  setEpoch(epoch: number): void
}

type Answering = (state: State, call: Received) => ApiResponse
const nothing = (): void => undefined
const ASIDE: readonly RouteName[] = ['recordDecisions', 'cleanUpWorkers']

export function fakeApi(clock: Pick<Clock, 'now'>, changed: State['changed'] = nothing): FakeApi {
  const state: State = {
    sessions: new Map(),
    workers: new Map(),
    definitions: new Map(),
    templates: new Map(),
    settings: new Map(),
    flights: new Map(),
    labs: new Set(),
    old: [],
    now: () => toInstant(clock.now()),
    changed,
  }
  const received: Received[] = []
  const { dispatch, faults } = faulty(state, received)
  return {
    ...state,
    client: apiClient(dispatch),
    received,
    faults,
    callsOf: name => received.filter(call => call.name === name),
    writes: () => received.filter(({ name }) => ROUTES[name].method !== 'GET' && !ASIDE.includes(name)),
  }
}

function faulty(state: State, received: Received[]) {
  const refusals = new Map<RouteName, ApiResponse[]>()
  let isAway = false
  let epoch = 0
  let before: (call: Received) => void | Promise<void> = nothing
  let after: (call: Received) => void = nothing

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    request.signal.throwIfAborted()
    if (isAway) throw new UnreachableError('the API is away')
    const call = receivedOf(request)
    await before(call)
    request.signal.throwIfAborted()
    received.push(call)
    if (call.epoch !== null && call.epoch < epoch) return problem(409, 'stale_leader')
    const answer = refusals.get(call.name)?.shift() ?? (ANSWERS[call.name] ?? unexpected)(state, call)
    if (call.epoch !== null) after(call)
    return answer
  }
  const faults: Faults = {
    refuse: (name, status, code) => void refusals.set(name, [...(refusals.get(name) ?? []), problem(status, code)]),
    setAway(away) {
      isAway = away
    },
    beforeAnswer(listener) {
      before = listener
    },
    afterWrite(listener) {
      after = listener
    },
    setEpoch(newest) {
      epoch = newest
    },
  }
  return { dispatch, faults }
}

const unexpected: Answering = (_, { name }) => problem(500, `the fake knows no ${name}`)

const ANSWERS: Partial<Record<RouteName, Answering>> = {
  getSettings: ({ settings }) => settingsShown(settings),
  listSessions: ({ sessions }, { query }) =>
    paged(
      [...sessions.values()].filter(({ status }) => status !== 'ARCHIVED' && status !== 'TERMINATED'),
      query,
    ),
  listWorkers: ({ workers }, { query }) =>
    paged([...workers.values()].filter(({ status }) => status !== 'TERMINATED').map(asView), query),
  listTemplates: ({ templates }, { query }) => paged([...templates.values()], query),
  listDefinitions: ({ definitions }, { query }) => {
    const summaries = [...definitions.values()].map(({ topology: _, ...summary }) => summary)
    return paged(summaries, query)
  },
  getWorker: ({ workers }, { id }) => {
    const worker = workers.get(id)
    return worker ? json(200, asView(worker)) : problem(404, 'not_found')
  },
  assignSession,
  reportSession,
  resumeWorker,
  scaleUp,
  cleanUpWorkers: ({ old }, { body }) => json(200, { removed: old, dry_run: body.dry_run }),
  recordDecisions: () => ({ status: 204, headers: {}, body: null }),
}

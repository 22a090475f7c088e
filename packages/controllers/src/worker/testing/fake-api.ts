import { UnreachableError } from '@lcm/client/api-error'
import { apiClient, type Client } from '@lcm/client/client'
import type { RouteName } from '@lcm/contract/routes'
import type { ApiRequest, ApiResponse } from '@lcm/contract/wire'
import { permitOrphan } from '@lcm/domain/fleet/orphans'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type Worker, type WorkerChanges, withChanges } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { json, paged, problem, type Received, receivedOf, settingsShown } from '@lcm/testkit/api-calls'
import { asView, aWorker } from '@lcm/testkit/builders'

/** The API as a worker-controller meets it: guarded writes, the contract's schemas, and bad days on demand. */
export interface FakeApi {
  readonly client: Client
  readonly workers: Map<string, Worker>
  readonly templates: Map<string, WorkerTemplate>
  /** What operators have set; anything else is at its default. */
  readonly settings: Map<string, unknown>
  readonly secrets: Map<string, Readonly<Record<string, string>>>
  /** By worker: what an idle check comes to; `skipped_not_idle` unless given. */
  readonly verdicts: Map<string, string>
  readonly received: Received[]
  put(...workers: readonly Worker[]): void
  worker(id: string): Worker
  callsOf(name: RouteName): readonly Received[]
  /** The next call of that name is refused so. */
  refuse(name: RouteName, status: number, code: string): void
  /** Makes the API unreachable, or reachable again. */
  setAway(isAway: boolean): void
  /** Is called before every answer, for what others do meanwhile. */
  beforeAnswer(listener: (call: Received) => void): void
}

interface State extends Pick<FakeApi, 'workers' | 'templates' | 'settings' | 'secrets' | 'verdicts'> {
  now(): number
  /** Of orphans, by instance id. */
  readonly terminations: Map<string, Instant>
}
type Answering = (state: State, call: Received) => ApiResponse

export function fakeApi(clock: Pick<Clock, 'now'> = { now: () => 0 }): FakeApi {
  const state: State = {
    now: clock.now,
    workers: new Map(),
    templates: new Map(),
    settings: new Map(),
    secrets: new Map(),
    verdicts: new Map(),
    terminations: new Map(),
  }
  const received: Received[] = []
  const refusals = new Map<RouteName, ApiResponse[]>()
  let isAway = false
  let listener = (_: Received): void => undefined

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    if (request.signal.aborted) throw request.signal.reason
    if (isAway) throw new UnreachableError('the API is away')
    const call = receivedOf(request)
    received.push(call)
    listener(call)
    return refusals.get(call.name)?.shift() ?? (ANSWERS[call.name] ?? unexpected)(state, call)
  }

  return {
    ...state,
    client: apiClient(dispatch),
    received,
    put(...workers) {
      for (const worker of workers) state.workers.set(worker.id, worker)
    },
    worker: id => state.workers.get(id) ?? aWorker({ id: 'nobody' }),
    callsOf: name => received.filter(call => call.name === name),
    refuse(name, status, code) {
      refusals.set(name, [...(refusals.get(name) ?? []), problem(status, code)])
    },
    setAway(away) {
      isAway = away
    },
    beforeAnswer(listen) {
      listener = listen
    },
  }
}

const NO_CONTENT: ApiResponse = { status: 204, headers: {}, body: null }
const unexpected: Answering = (_, { name }) => problem(500, `the fake knows no ${name}`)

const ANSWERS: Partial<Record<RouteName, Answering>> = {
  getSettings: ({ settings }) => settingsShown(settings),
  listWorkers,
  getWorker: (state, { id }) => answerWorker(state, id),
  getTemplate: ({ templates }, { id }) => {
    const template = templates.get(id)
    return template ? json(200, template) : problem(404, 'not_found')
  },
  getWorkerSecrets: ({ secrets }, { id }) =>
    json(200, { license_token: null, cml_username: null, cml_password: null, ...secrets.get(id) }),
  reportWorkerStatus: (state, call) => write(state, call, worker => withChanges(worker, changesIn(call))),
  openLaunchAttempt: (state, call) =>
    write(state, call, worker => ({ ...worker, ...Object.fromEntries([['launch', call.body.attempt]]) })),
  reportWorkerMetrics: ({ workers }, { id }) => (workers.has(id) ? NO_CONTENT : problem(404, 'not_found')),
  checkWorkerIdle: ({ workers, verdicts }, { id }) => {
    const verdict = verdicts.get(id) ?? 'skipped_not_idle'
    return json(200, { verdict, because: 'so it was judged', guards: [], worker: workers.get(id) ?? null })
  },
  importWorker: importFound,
  stopWorkerLabs: () => json(200, { stopping: 1 }),
  permitOrphanTermination: permitOrphanOf,
  reportLicenseLeak: () => json(201, { id: 'll-1' }),
  recordDecisions: () => NO_CONTENT,
}

function listWorkers({ workers }: State, { query }: Received): ApiResponse {
  const status = query.get('status')
  const all = [...workers.values()].filter(worker =>
    status === null
      ? worker.status !== 'TERMINATED' || query.get('include_terminated') === 'true'
      : worker.status === status,
  )
  return paged(all.map(asView), query)
}

function answerWorker({ workers }: State, id: string): ApiResponse {
  const worker = workers.get(id)
  return worker ? json(200, asView(worker)) : problem(404, 'not_found')
}

const changesIn = ({ body }: Received): WorkerChanges => ({ ...Object.fromEntries(Object.entries(body.changes ?? {})) })

function write({ workers, now }: State, { id, ifMatch }: Received, change: (worker: Worker) => Worker): ApiResponse {
  const worker = workers.get(id)
  if (worker === undefined) return problem(404, 'not_found')
  if (worker.version !== ifMatch) return problem(412, 'version_mismatch')
  const next = change(worker)
  const entered_status_at = next.status === worker.status ? worker.entered_status_at : toInstant(now())
  const changed = { ...next, entered_status_at, version: worker.version + 1 }
  workers.set(id, changed)
  return json(200, asView(changed))
}

function permitOrphanOf({ workers, terminations, now }: State, { body }: Received): ApiResponse {
  const fleet = [...workers.values()].filter(each => each.status !== 'TERMINATED' && each.ec2_instance_id !== null)
  const scaling = { orphan_terminations: Object.fromEntries(terminations), held_since: null }
  const permit = permitOrphan(String(body.ec2_instance_id), scaling, fleet.length, toInstant(now()))
  for (const [id, at] of Object.entries(permit.terminations)) terminations.set(id, at)
  return json(200, { granted: permit.granted, because: permit.because })
}

function importFound({ workers }: State, { body }: Received): ApiResponse {
  const known = [...workers.values()].find(each => each.ec2_instance_id === body.ec2_instance_id)
  if (known !== undefined && known.status !== 'TERMINATED') return json(200, asView(known))
  const { cml_version: _, ...facts } = body
  const made = { ...aWorker({ id: `w-of-${String(body.ec2_instance_id)}`, origin: 'DISCOVERY' }), ...facts }
  workers.set(made.id, made)
  return json(201, asView(made))
}

import { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import type { EventEnvelope } from '@lcm/contract/events'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { API_PREFIX } from '@lcm/contract/routes'
import { type Actor, SERVICES, type ServiceName } from '@lcm/domain/actor'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { ServiceTerm } from '@lcm/domain/fencing'
import { toInstant } from '@lcm/domain/instant'
import type { AuditEntry, DecisionRecord } from '@lcm/domain/journal-records'
import type { PlannedAction, ServiceInstance } from '@lcm/domain/service-instance'
import type { Token } from '@lcm/domain/token'
import type { CostInterval } from '@lcm/domain/worker/cost'
import {
  type AControlPlane,
  aControlPlane,
  type CollectionName,
  type DocumentOf,
  storedDefinition,
} from '@lcm/testkit/a-control-plane'
import { aReplica, START_MS } from './resource-builders.ts'

/** The token of the captured shell, and the person behind it. */
const TOKEN = 'secret'
const ANN: Actor = { id: 'admin', name: 'ann', role: 'admin', service: null }

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

export type CliApi = ReturnType<typeof cliApi>

/**
 * The real API as the CLI meets it. Documents that a test puts, changes or removes are written before the next request is
 * executed, so that tests need not wait for them.
 */
export function cliApi(plane: AControlPlane = aControlPlane()) {
  plane.access.grant(TOKEN, ANN)
  const { seed, done } = seedQueue()
  const services = servicesOf(plane, seed)
  services.setReplicas(...CONTROLLERS.map(service => aReplica({ service })))
  const shelf = <N extends CollectionName>(name: N) => ({
    put: (document: DocumentOf<N>) => seed(() => plane.put(name, document)),
    change: (id: string, changes: Partial<DocumentOf<N>>) => seed(() => plane.edit(name, id, changes)),
    remove: (id: string) => seed(() => plane.remove(name, id)),
    all: () => plane.all(name),
  })
  const { all: _, ...workers } = shelf('workers')
  return {
    ...observedDispatch(plane, done),
    plane,
    /** Runs before the next request. */
    seed,
    clock: plane.clock,
    ...workers,
    putTemplate: shelf('templates').put,
    putLeak: shelf('leaks').put,
    putToken: (token: Token) => shelf('tokens').put({ ...token, hash: token.id }),
    definitions: {
      ...shelf('definitions'),
      put: (definition: LabletDefinition) => shelf('definitions').put(storedDefinition(definition)),
    },
    sessions: shelf('sessions'),
    labs: shelf('labs'),
    /** Another person holds the token from now on. */
    actAs: (changes: Partial<Actor>) => plane.access.grant(TOKEN, { ...ANN, ...changes }),
    /** Tells what belongs to no version, such as how busy workers are. */
    tell: (event: EventEnvelope) => plane.say(event),
    ...journalOf(plane, seed),
    ...services,
  }
}

/** Runs seeds one after another; `done` resolves after the last one. */
function seedQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return {
    done: () => last,
    seed(work: () => Promise<unknown>): void {
      last = last.then(work)
      // The next request reports it.
      last.catch(() => undefined)
    },
  }
}

type Seed = ReturnType<typeof seedQueue>['seed']

/** What controllers decided and people did, as the journal holds it. */
function journalOf({ store }: AControlPlane, seed: Seed) {
  const append = (stream: string, entries: readonly (DecisionRecord | AuditEntry)[]) =>
    seed(() =>
      store.journal.append(
        entries.map(({ id, at, resource, ...body }) => ({ id, stream, at, subject: resource, body })),
      ),
    )
  return {
    decide: (...records: readonly DecisionRecord[]) => append('decision', records),
    audit: (...entries: readonly AuditEntry[]) => append('audit', entries),
    /** Cost of a worker in the last day. */
    spend: (workerId: string, interval: Pick<CostInterval, 'cause' | 'usd' | 'disk_usd' | 'saved_usd'>) =>
      seed(() => {
        const span = { from: toInstant(START_MS - 3_600_000), to: toInstant(START_MS) }
        const id = `cost:${workerId}:${interval.cause}`
        const entry = { id, stream: 'cost', at: span.to, subject: `worker:${workerId}`, body: { ...span, ...interval } }
        return store.journal.append([entry])
      }),
  }
}

/** Heartbeats of controllers, and the terms of those that lead. */
function servicesOf(plane: AControlPlane, seed: Seed) {
  async function replace(replicas: readonly ServiceInstance[]): Promise<void> {
    for (const { id } of await plane.all('instances')) await plane.remove('instances', id)
    await plane.put('instances', ...replicas)
    const terms = new Map((await plane.all('services')).map(term => [term.id, term]))
    for (const { service, epoch, instance_id, is_leader, seen_at } of replicas) {
      const term = terms.get(service) ?? newTerm(service, seen_at)
      if (is_leader && epoch >= term.epoch) terms.set(service, { ...term, epoch, instance_id })
    }
    await plane.put('services', ...terms.values())
  }
  return {
    setReplicas: (...replicas: readonly ServiceInstance[]) => seed(() => replace(replicas)),
    /** What the leader of a service would do next. */
    plan: (service: ServiceName, ...plan: PlannedAction[]) =>
      seed(() => plane.edit('instances', `${service}:a`, { plan })),
  }
}

const newTerm = (id: string, at: string): ServiceTerm => ({
  ...{ id, version: 1, created_at: at, updated_at: at, epoch: 0, instance_id: '' },
  ...{ generation: 0, triggers: 0, resignations: 0 },
})

/** The API behind a network that can fail, with what was sent to it. */
function observedDispatch(plane: AControlPlane, seeded: () => Promise<unknown>) {
  const answers: string[] = []
  const waiting: (() => void)[] = []
  let isForgetful = false
  const wake = () => {
    for (const resume of waiting.splice(0)) resume()
  }
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise<void>(resolve => waiting.push(resolve))
  }
  const nameOf = ({ method, url }: Pick<ApiRequest, 'method' | 'url'>) => {
    const [path = ''] = url.split('?')
    return `${method} ${path.slice(path.startsWith(SIM_CONTROL_PATH) ? SIM_CONTROL_PATH.length : API_PREFIX.length)}`
  }
  /** A position that the API no longer knows. */
  const forgotten = (request: ApiRequest): ApiRequest => {
    if (!isForgetful || request.headers['last-event-id'] === undefined) return request
    isForgetful = false
    return { ...request, headers: { ...request.headers, 'last-event-id': 'forgotten' } }
  }
  const dispatch: Dispatch = async (request): Promise<ApiResponse> => {
    await seeded()
    try {
      return await plane.dispatch(forgotten(request))
    } finally {
      answers.push(nameOf(request))
      wake()
    }
  }
  return {
    dispatch,
    /** Requests, such as `POST /workers`. */
    requests: () => plane.requests.map(({ request }) => nameOf(request)),
    bodies: () => plane.requests.flatMap(({ request, body }) => (request.body === null ? [] : [body])),
    /** Until `restart` nothing answers; open streams break. */
    crash() {
      plane.fail({ effect: 'unreachable' })
      plane.breakStreams(true)
    },
    restart: () => plane.heal(),
    /** Only streams are refused; reads still work. */
    refuseStreams() {
      plane.fail({ route: 'events', effect: 'too_many_clients' })
      plane.breakStreams(true)
    },
    /** Forgets positions: a stream that resumes gets a reset. */
    compact() {
      isForgetful = true
      plane.breakStreams(true)
    },
    /** Resolves once the API serves its n-th stream. */
    stream: (n: number) => until(() => plane.opened() >= n),
    /** Resolves once a request of this kind was answered, counted from the beginning. */
    answered: (request: string, times = 1) => until(() => answers.filter(each => each === request).length >= times),
  }
}

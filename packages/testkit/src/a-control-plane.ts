import { apiClient, type Client } from '@lcm/client/client'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import type { BodyInput } from '@lcm/contract/routes'
import { type ControlPlane, type ControlPlaneParts, controlPlane } from '@lcm/control-plane/control-plane'
import { StoredDefinition } from '@lcm/control-plane/internal-documents'
import { storedKeys } from '@lcm/control-plane/keys/secret-keys'
import { type CollectionName, collectionOf, type DocumentOf, openCollections } from '@lcm/control-plane/resources'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { type Actor, ROLES, type Role, SERVICES, type ServiceName } from '@lcm/domain/actor'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { GivenSettings } from '@lcm/domain/fleet/settings'
import { textReason } from '@lcm/domain/reason'
import { silentLogger } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Store } from '@lcm/store/store'
import { faultyDispatch } from './faulty-dispatch.ts'
import { faultyStreams } from './faulty-streams.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { seededRandom } from './seeded-random.ts'

export type { CollectionName, DocumentOf }

export const METAL = {
  name: 'metal',
  instance_types: ['m5zn.metal'],
  ami_name_pattern: 'cml-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
  cost_per_hour_usd: 4,
}

/** Tests that are not about quotas book as much as they need. */
export const NO_QUOTAS: GivenSettings = {
  quota_user_live_sessions: 'unlimited',
  quota_user_future_sessions: 'unlimited',
  quota_user_horizon_days: 'unlimited',
  quota_user_core_hours_per_week: 'unlimited',
}

const CONFIG = {
  version: '0.0.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: ['us-east-1', 'eu-west-1'],
  settings: NO_QUOTAS,
} as const

/** A definition as the API stores it. */
export const storedDefinition = (definition: LabletDefinition): StoredDefinition => StoredDefinition.parse(definition)

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

const service = (role: Role): ServiceName | null => (role === 'controller' ? 'worker-controller' : null)

export interface ControlPlaneSetting extends Partial<ControlPlaneParts> {
  /** The only secret key at first. */
  readonly secretKey?: Uint8Array
  /** Start of its manual clock. */
  readonly startMs?: number
}

export type AControlPlane = ReturnType<typeof aControlPlane>

/**
 * The real API on an in-memory SQLite store, behind an unreliable network. It has one token per role and one per service: their
 * names. Use it wherever a test needs the API, instead of a fake.
 */
export function aControlPlane({ startMs, secretKey, ...setting }: ControlPlaneSetting = {}) {
  const clock = manualClock(startMs)
  const random = seededRandom(7)
  const store = setting.store ?? openSqliteStore(':memory:')
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const plane = controlPlane({
    store,
    changeKeys: coordination.changeKeys,
    clock,
    randomBytes: size => random.bytes(size),
    secretKeys: storedKeys([secretKey ?? random.bytes(32)]),
    config: CONFIG,
    log: silentLogger,
    process: { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '# metrics\n' },
    ...setting,
  })
  for (const role of ROLES)
    plane.access.grant(role, { id: role, name: role, role, service: service(role) } satisfies Actor)

  for (const service of CONTROLLERS)
    plane.access.grant(service, { id: service, name: service, role: 'controller', service } satisfies Actor)
  const streams = faultyStreams(plane.dispatch)
  const network = faultyDispatch(streams.dispatch)
  /** A client of this API, as a role or a service. */
  const client = (as: Role | ServiceName = 'admin'): Client => apiClient(network.dispatch, { token: as })
  return {
    ...plane,
    ...streams,
    ...network,
    ...commandsOf(network.dispatch),
    ...othersOf(plane.dispatch),
    ...documentsOf(store),
    ...servicesOf(plane, clock),
    client,
    clock,
    store,
    coordination,
    changeKeys: coordination.changeKeys,
  }
}

/** Helpers that send requests. */
function commandsOf(dispatch: ControlPlane['dispatch']) {
  async function send(method: string, path: string, more: Partial<ApiRequest> & { as?: Role; json?: unknown } = {}) {
    const { as = 'admin', json, headers, ...rest } = more
    const response = await dispatch({
      method,
      url: path.startsWith('/') ? path : `/api/v1/${path}`,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', ...headers },
      body: json === undefined ? null : JSON.stringify(json),
      signal: new AbortController().signal,
      ...rest,
    })
    return { ...response, json: bodyOf(response) }
  }

  return {
    send,
    /** A controller's report, in a term that is registered first. */
    async report(id: string, version: number, changes: object, epoch = 1) {
      const term = { as: 'controller', json: { epoch, instance_id: 'one' } } as const
      await send('PUT', 'services/worker-controller/term', term)
      return send('PATCH', `workers/${id}/status`, {
        as: 'controller',
        headers: { 'if-match': `"${version}"`, 'lcm-epoch': String(epoch) },
        json: { changes, decision: { action: 'write', because: textReason('the test says so') } },
      })
    },
    /** Creates a worker and returns the response. */
    async create(body: object = {}) {
      if ((await send('GET', 'worker-templates/metal')).status === 404)
        await send('POST', 'worker-templates', { json: METAL })
      return (await send('POST', 'workers', { json: { template_name: 'metal', ...body } })).json
    },
  }
}

/** Requests of others, which no fault hits and no record shows. */
function othersOf(dispatch: ControlPlane['dispatch']) {
  const others = (as: Role | ServiceName = 'admin'): Client => apiClient(dispatch, { token: as })
  return {
    others,
    async set(body: BodyInput<'patchSettings'>): Promise<void> {
      await others().call('patchSettings', { body })
    },
    /** Registers a term of a service, so that writes of every older term are refused. */
    async registerTerm(service: ServiceName, epoch: number, instance_id = 'one'): Promise<void> {
      await others(service).call('registerTerm', { params: { service }, body: { epoch, instance_id } })
    },
  }
}

/** Helpers that read and write documents past the API: its rules, its journal and its clock. */
function documentsOf(store: Store) {
  const collections = openCollections(store)

  async function get<N extends CollectionName>(name: N, id: string): Promise<DocumentOf<N>> {
    const found = await collectionOf(collections, name).get(id)
    if (found === null) throw new Error(`${name} has no ${id}`)
    return found
  }

  /** Writes until no other writer comes in between. */
  async function write<N extends CollectionName>(
    name: N,
    id: string,
    next: (stored: DocumentOf<N> | null) => DocumentOf<N>,
  ): Promise<DocumentOf<N>> {
    const collection = collectionOf(collections, name)
    const stored = await collection.get(id)
    const document = stored === null ? next(null) : { ...next(stored), version: stored.version + 1 }
    const result = await (stored === null ? collection.insert(document) : collection.replace(document))
    if (result.ok) return document
    if (result.reason === 'taken') throw new Error(`another of ${name} has the ${result.field} of ${id}`)
    return write(name, id, next)
  }

  return {
    /** Writes documents as they are, for states that take many requests to reach. One that exists gets its next version. */
    async put<N extends CollectionName>(name: N, ...documents: readonly DocumentOf<N>[]): Promise<void> {
      await Promise.all(documents.map(document => write(name, document.id, () => document)))
    },
    get,
    /** Changes fields that no route of the API changes. */
    edit: <N extends CollectionName>(name: N, id: string, changes: Partial<DocumentOf<N>>): Promise<DocumentOf<N>> =>
      write(name, id, stored => {
        if (stored === null) throw new Error(`${name} has no ${id}`)
        return { ...stored, ...changes }
      }),
    all: <N extends CollectionName>(name: N): Promise<readonly DocumentOf<N>[]> =>
      collectionOf(collections, name).list({ limit: 10_000 }),
    async remove<N extends CollectionName>(name: N, id: string): Promise<void> {
      await collectionOf(collections, name).remove(await get(name, id))
    },
  }
}

const servicesOf = ({ services }: ControlPlane, clock: ManualClock) => ({
  /** Runs background services, all or those of these names, until the returned function is called. */
  run(...names: readonly string[]) {
    const stop = new AbortController()
    const chosen = services.filter(({ name }) => names.length === 0 || names.includes(name))
    const running = Promise.all(chosen.map(service => service.run(stop.signal)))
    return async () => {
      stop.abort()
      await clock.advance(0)
      await running
    }
  },
})

const bodyOf = ({ body, headers }: ApiResponse) =>
  typeof body === 'string' && /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : null

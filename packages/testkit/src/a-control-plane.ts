import { apiClient, type Client } from '@lcm/client/client'
import type { ApiRequest, ApiResponse } from '@lcm/contract/wire'
import { type ControlPlaneParts, controlPlane } from '@lcm/control-plane/control-plane'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { type Actor, ROLES, type Role, SERVICES, type ServiceName } from '@lcm/domain/actor'
import { silentLogger } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { faultyDispatch } from './faulty-dispatch.ts'
import { manualClock } from './manual-clock.ts'
import { seededRandom } from './seeded-random.ts'

export const METAL = {
  name: 'metal',
  instance_types: ['m5zn.metal'],
  ami_name_pattern: 'cml-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
  cost_per_hour_usd: 4,
}

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

const service = (role: Role): ServiceName | null => (role === 'controller' ? 'worker-controller' : null)

/**
 * The real API on an in-memory SQLite store, behind an unreliable network. It has one token per role and one per service: their
 * names. Use it wherever a test needs the API, instead of a fake.
 */
export function aControlPlane(setting: Partial<ControlPlaneParts> = {}) {
  const clock = manualClock()
  const random = seededRandom(7)
  const store = setting.store ?? openSqliteStore(':memory:')
  const changeKeys: ChangeKeys = localCoordination({ clock, firstEpoch: () => 1 }).changeKeys
  const plane = controlPlane({
    store,
    changeKeys,
    clock,
    randomBytes: size => random.bytes(size),
    secretKey: random.bytes(32),
    config: { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1', 'eu-west-1'], settings: {} },
    log: silentLogger,
    process: { health: () => ({ status: 'healthy' }), waitsFor: () => null, metrics: async () => '# metrics\n' },
    ...setting,
  })
  for (const role of ROLES)
    plane.access.grant(role, { id: role, name: role, role, service: service(role) } satisfies Actor)

  for (const service of CONTROLLERS)
    plane.access.grant(service, { id: service, name: service, role: 'controller', service } satisfies Actor)
  const { dispatch, requests, fail, heal } = faultyDispatch(plane.dispatch)

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
    ...plane,
    dispatch,
    /** Requests so far, in order. */
    requests,
    /** Makes requests fail until `heal`. */
    fail,
    heal,
    /** A client of this API, as a role or a service. */
    client: (as: Role | ServiceName = 'admin'): Client => apiClient(dispatch, { token: as }),
    clock,
    store,
    changeKeys,
    send,
    /** A controller's report, in a term that is registered first. */
    async report(id: string, version: number, changes: object, epoch = 1) {
      const term = { as: 'controller', json: { epoch, instance_id: 'one' } } as const
      await send('PUT', 'services/worker-controller/term', term)
      return send('PATCH', `workers/${id}/status`, {
        as: 'controller',
        headers: { 'if-match': `"${version}"`, 'lcm-epoch': String(epoch) },
        json: { changes, decision: { action: 'write', because: 'the test says so' } },
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

const bodyOf = ({ body, headers }: ApiResponse) =>
  typeof body === 'string' && /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : null

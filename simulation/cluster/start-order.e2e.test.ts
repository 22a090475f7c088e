import { createServer } from 'node:net'
import { join } from 'node:path'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONTROLLERS } from './clusters/controller-cluster.ts'
import { eventually } from './failover-run.ts'
import { openProcessEnvironment, type ProcessEnvironment } from './processes/process-environment.ts'
import { type ServiceProcess, startSimulator, startWaitingProcess } from './processes/service-process.ts'

const LIMIT_MS = 60_000

let etcd: EtcdServer
let environment: ProcessEnvironment
beforeAll(async () => {
  etcd = await startEtcd()
  environment = openProcessEnvironment({ etcd: etcd.endpoints, store: home => `sqlite:${join(home, 'lcm.sqlite')}` })
}, LIMIT_MS)
afterAll(async () => {
  await environment.close()
  await etcd.close()
}, LIMIT_MS)

const get = async ({ url }: ServiceProcess, path: string) => {
  const answer = await fetch(url + path)
  return { status: answer.status, body: await answer.json() }
}
const untilItWaits = (one: ServiceProcess, what: RegExp) =>
  eventually(`${one.name} waits for ${what}`, async () => {
    const { status, body } = await get(one, '/ready')
    return status === 503 && what.test(Object(body).waits_for) ? true : null
  })
const untilReady = (one: ServiceProcess) =>
  eventually(`${one.name} is ready`, async () => ((await get(one, '/ready')).status === 200 ? true : null), 50)

const startApi = (port: string) => environment.start('api', ['control-plane-api', '--port', port], environment.apiEnv)

describe('services that start before their dependencies', { timeout: LIMIT_MS }, () => {
  it('report that they wait for etcd and then for the API, and become ready by themselves', async () => {
    let api = await startApi('0')
    const { port } = new URL(api.url)
    const headers = { authorization: `Bearer ${environment.adminToken}`, 'content-type': 'application/json' }
    const tokens = await Promise.all(
      CONTROLLERS.map(async service => {
        const body = JSON.stringify({ name: service, role: 'controller', service })
        return Object(await (await fetch(`${api.url}/api/v1/tokens`, { method: 'POST', headers, body })).json()).secret
      }),
    )
    api.signal('SIGTERM')
    expect(await api.exited).toBe(0)
    await etcd.members[0]?.kill()
    const simulator = await startSimulator(600)
    const controllers = await Promise.all(
      CONTROLLERS.map((service, index) =>
        environment.startController(service, { service, token: tokens[index], api: api.url, cloud: simulator.url }),
      ),
    )
    for (const one of controllers) {
      await untilItWaits(one, /^etcd/)
      expect(await get(one, '/health')).toMatchObject({ status: 200, body: { is_leader: false } })
    }
    await etcd.members[0]?.restart()
    for (const one of controllers) await untilItWaits(one, /^the API: http:\S+ does not answer$/)
    api = await startApi(port)
    for (const one of [api, ...controllers]) await untilReady(one)
    for (const one of controllers) expect(await get(one, '/health')).toMatchObject({ body: { is_leader: true } })
    simulator.signal('SIGTERM')
    await simulator.exited
  })
})

it('reports an unreachable MongoDB in every response, and ends on SIGTERM', {
  timeout: LIMIT_MS,
}, async () => {
  const env = { ...environment.apiEnv, ETCD_ENDPOINTS: etcd.endpoints.join(','), LCM_STORE: await unusedMongoUrl() }
  const regions = { AWS_REGIONS_CONFIG_PATH: join(environment.folder, 'regions.yaml') }
  const api = await startWaitingProcess('without-store', ['control-plane-api', '--port', '0'], { ...env, ...regions })
  const waits_for = expect.stringMatching(/^the store: MongoDB can't be reached: .*ECONNREFUSED/)
  expect(await get(api, '/ready')).toEqual({ status: 503, body: { ready: false, waits_for } })
  expect(await get(api, '/health')).toMatchObject({ status: 200, body: { status: 'degraded' } })
  expect(await get(api, '/api/v1/workers')).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  api.signal('SIGTERM')
  expect(await api.exited).toBe(0)
})

/** URL with a port on which no server listens. */
async function unusedMongoUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return `mongodb://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/lcm`
}

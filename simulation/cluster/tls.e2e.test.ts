import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { type Certificates, makeCertificates } from '@lcm/coordination/testing/certificates'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { fetchTrusting } from '@lcm/lcm/serve/tls/fetch-trusting'
import { systemClock } from '@lcm/runtime/clock'
import { METAL } from '@lcm/testkit/a-control-plane'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from './failover-run.ts'
import { openProcessEnvironment, type ProcessEnvironment } from './processes/process-environment.ts'
import type { ServiceProcess } from './processes/service-process.ts'

const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))
const LIMIT_MS = 60_000

let etcd: EtcdServer
let environment: ProcessEnvironment
let certificates: Certificates
beforeAll(async () => {
  certificates = makeCertificates()
  certificates.signServer('renewed')
  etcd = await startEtcd()
  environment = openProcessEnvironment({ etcd: etcd.endpoints, store: home => `sqlite:${join(home, 'lcm.sqlite')}` })
}, LIMIT_MS)
afterAll(async () => {
  await environment.close()
  await etcd.close()
  certificates.remove()
}, LIMIT_MS)

const secretFile = (name: string, text: string): string => {
  const path = join(environment.folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

/** Puts a pair where the services look for theirs. */
function install(name: string): void {
  copyFileSync(certificates.path(`${name}.crt`), join(environment.folder, 'tls.crt'))
  copyFileSync(certificates.path(`${name}.key`), join(environment.folder, 'tls.key'))
}

/** The common name of the certificate that a new connection sees. */
async function certificateAt({ url }: ServiceProcess): Promise<string | undefined> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port), ca: certificates.text('ca.crt') })
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return CN
}

const lcm = (env: Readonly<Record<string, string>>) =>
  spawnSync(process.execPath, [LCM, 'get', 'services', '-o', 'json'], { env, encoding: 'utf8' })

it('API, controller and command line meet over TLS with a private CA, and a new certificate interrupts no stream', {
  timeout: LIMIT_MS,
}, async () => {
  install('server')
  const ca = certificates.path('ca.crt')
  const tls = {
    LCM_TLS_CERT_FILE: join(environment.folder, 'tls.crt'),
    LCM_TLS_KEY_FILE: join(environment.folder, 'tls.key'),
  }
  const { LCM_SECRET_KEY = '', ...others } = environment.apiEnv
  const key = { LCM_SECRET_KEY_FILE: secretFile('secret-key', `${LCM_SECRET_KEY}\n`) }
  const api = await environment.start('api', ['control-plane-api', '--port', '0'], { ...others, ...key, ...tls })
  expect(api.url).toMatch(/^https:/)
  expect(statSync(join(environment.folder, 'lcm.sqlite')).mode & 0o777).toBe(0o600)
  const transport = httpTransport({ baseUrl: api.url, clock: systemClock, fetch: await fetchTrusting(ca) })
  const client = apiClient(transport, { token: environment.adminToken })
  const service = 'resource-scheduler'
  const { secret } = await client.call('createToken', { body: { name: service, role: 'controller', service } })

  const scheduler = await environment.start(service, [service, '--port', '0'], {
    CONTROL_PLANE_API_URL: api.url,
    LCM_SERVICE_TOKEN_FILE: secretFile('token', `${secret}\n`),
    LCM_CA_FILE: ca,
    LCM_METRICS_PUBLIC: 'true',
    ...tls,
  })
  const ofScheduler = httpTransport({ baseUrl: scheduler.url, clock: systemClock, fetch: await fetchTrusting(ca) })
  const read = async (url: string) => {
    const { signal } = new AbortController()
    return ofScheduler({ method: 'GET', url, headers: {}, body: null, signal })
  }
  await eventually('the scheduler is ready', async () => ((await read('/ready')).status === 200 ? true : null))
  await eventually('it leads', async () => (JSON.parse(String((await read('/health')).body)).is_leader ? true : null))
  expect(String((await read('/metrics')).body)).toMatch(/^lcm_tls_certificate_expires_timestamp_seconds\{.*\} 1\d{9}$/m)

  const { revision } = await client.call('listTemplates', { query: { limit: 1 } })
  const stream = client.events({ after: revision, signal: new AbortController().signal })
  const created = async (name: string) => {
    await client.call('createTemplate', { body: { ...METAL, name } })
    for (;;) {
      const { value, done } = await stream.next()
      if (done) throw new Error('the stream ended')
      if (JSON.stringify(value).includes(name)) return true
    }
  }
  expect(await created('before')).toBe(true)
  install('renewed')
  for (const each of [api, scheduler])
    await eventually(`${each.name} is renewed`, async () => ((await certificateAt(each)) === 'renewed' ? true : null))
  expect(await created('after')).toBe(true)

  const env = { LCM_URL: api.url, LCM_TOKEN_FILE: secretFile('admin-token', environment.adminToken) }
  const services = lcm({ ...env, LCM_CA_FILE: ca })
  expect(services.stderr).toBe('')
  expect(services.stdout).toContain('"resource-scheduler"')
  const untrusted = lcm(env)
  expect(untrusted.status).toBe(6)
  expect(untrusted.stderr).toMatch(
    /is signed by an authority that is not trusted here: set LCM_CA_FILE to the certificate/,
  )
  expect(
    environment.processes.flatMap(each => each.log().match(/serving with a new TLS certificate/g) ?? []),
  ).toHaveLength(2)
})

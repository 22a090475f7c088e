import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'
import type { WorkerView } from '@lcm/contract/worker'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { CONDITION } from '@lcm/domain/worker/worker'
import { up } from '@lcm/lcm/serve/up'
import { systemClock } from '@lcm/runtime/clock'
import { afterEach, expect, it } from 'vitest'
import { followWorkers } from './follow-workers.ts'

const PASSWORD = 'password-of-the-whole-fleet'
const OWN_PASSWORD = 'password-of-this-server-alone'
const TOKEN = 'token-of-the-smart-account'
const SECRETS = [PASSWORD, OWN_PASSWORD, TOKEN]
const COOKIE = 'planted=by-a-hostile-server'
const OTHER_FINGERPRINT = 'ab'.repeat(32)
const NODE_PORTS = { first: 2000, last: 7999 }
/** Responses of CML to an authenticated caller. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/v0/system_information': { version: '2.9.0+build.1', ready: true, allow_ssh_pubkey_auth: false, oui: null },
  '/api/v0/auth_extended': { username: 'admin', id: '1', token: 'a-session', admin: true, error: null },
  '/api/v0/licensing': {
    registration: { status: 'NOT_REGISTERED' },
    authorization: { status: 'INIT' },
    udi: { hostname: 'cml', product_uuid: 'u' },
  },
  '/api/v0/labs': [],
}

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A request as it arrived, with every header and the body. */
interface Received {
  readonly line: string
  readonly headers: readonly string[]
  readonly body: string
}

/** A TLS server that poses as CML, plants a cookie and records all requests. */
async function hostileCml(host: string, port = 0) {
  const identity = selfSigned('cml', Date.parse('2026-01-02T03:04:05.000Z'))
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const sockets = new Set<Duplex>()
  const server = createServer({ cert: identity.certificate_pem, key: identity.key_pem })
  server.on('connection', socket => sockets.add(socket))
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method, url, rawHeaders: headers } = request
    received.push({ line: `${method} ${url}`, headers, body: String(Buffer.concat(chunks)) })
    for (const check of waiting) check()
    const body = ANSWERS[url ?? ''] ?? {}
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': COOKIE }).end(JSON.stringify(body))
  })
  server.listen(port, host)
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  closers.push(close)
  const until = (isSo: () => boolean) =>
    new Promise<void>(resolve => {
      const check = () => {
        if (isSo()) resolve()
      }
      waiting.add(check)
      check()
    })
  const address = server.address() as AddressInfo
  return {
    url: `https://${host}:${address.port}`,
    port: address.port,
    fingerprint: identity.sha256,
    received,
    until,
    close,
  }
}

type Hostile = Awaited<ReturnType<typeof hostileCml>>

/** What a server must not get: a secret anywhere, a cookie, a header of authentication, or any path but the public one. */
const taken = ({ received }: Hostile): string[] =>
  received
    .filter(({ line, headers, body }) => {
      const bytes = [line, ...headers, body].join('\n')
      const isKnown = headers.some(each => /^(cookie|authorization)$/i.test(each))
      return isKnown || SECRETS.some(each => bytes.includes(each)) || line !== 'GET /api/v0/system_information'
    })
    .map(({ line }) => line)

/** LCM on the simulated cloud, with one machine that it did not launch. */
async function startLcm(): Promise<{ client: Client; simulator: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lcm-hostile-'))
  const stop = new AbortController()
  let welcomed = () => undefined as unknown
  const welcome = new Promise(resolve => {
    welcomed = () => resolve(null)
  })
  const out = (line: string) => void (line.includes('Ctrl-C') && welcomed())
  const env = { LCM_LOG_LEVEL: 'silent', CML_DEFAULT_PASSWORD: PASSWORD, RECONCILE_INTERVAL: '1' }
  const more = { cloud: 'sim', port: 0, simPort: null, simPreset: null, speed: 1_200, env } as const
  const ended = up({ ...more, dataDir, simFleet: 1 }, { out, err: out, signal: stop.signal })
  closers.push(() => {
    stop.abort()
    return ended
  })
  await Promise.race([welcome, ended])
  const { api, sim_control: simulator } = JSON.parse(readFileSync(join(dataDir, 'endpoints.json'), 'utf8'))
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  return { client: apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token }), simulator }
}

/** The machine that LCM did not launch. */
async function foundMachine(simulator: string): Promise<{ id: string; address: string }> {
  const { items } = (await (await fetch(`${simulator}/instances`)).json()) as { items: readonly SimMachine[] }
  const found = items.filter(({ tags }) => tags[TAG.discovery] === 'true' && tags[TAG.fleet] === undefined)
  expect(found).toHaveLength(1)
  return { id: found[0]?.instance_id ?? '', address: new URL(found[0]?.endpoint ?? '').hostname }
}

interface SimMachine {
  readonly instance_id: string
  readonly endpoint: string | null
  readonly tags: Readonly<Record<string, string>>
}

async function tag(simulator: string, id: string, endpoint: string): Promise<void> {
  const body = JSON.stringify({ tags: { [TAG.endpoint]: endpoint } })
  const { status } = await fetch(`${simulator}/instances/${id}/tag`, { method: 'POST', body })
  expect(status).toBeLessThan(300)
}

/** Follows the workers until one is as expected. */
async function until(client: Client, isSo: (worker: WorkerView) => boolean): Promise<WorkerView> {
  const [worker] = (await followWorkers(client, all => all.some(isSo))).filter(isSo)
  if (worker === undefined) throw new Error('followWorkers returned no such worker')
  return worker
}

/** Gives LCM everything that it could send, and has it look again. */
async function offerSecrets(client: Client, id: string): Promise<void> {
  const params = { id }
  await client.call('putWorkerCredentials', { params, body: { username: 'admin', password: OWN_PASSWORD } })
  const license = { product: 'CML_Enterprise', token: TOKEN }
  await client.call('putWorkerLicense', { params, body: license }).catch(() => undefined)
  await client.call('refreshWorker', { params, body: {} })
  await until(client, each => each.id === id && each.refresh_requested_at === null)
}

it('sends nothing to the server that any tag names beyond the addresses of the machine', {
  timeout: 120_000,
}, async () => {
  const { client, simulator } = await startLcm()
  const found = await foundMachine(simulator)
  const hostile = await hostileCml('127.0.0.1')
  const ofNodes = await hostileCml(found.address, NODE_PORTS.first + 11)
  // One machine that LCM did not launch, and one of LCM that is tagged before LCM first connects to its CML.
  await tag(simulator, found.id, hostile.url)
  const license = { product: 'CML_Enterprise', token: TOKEN }
  const body = { template_name: 'nested', name: 'launched', tags: { [TAG.endpoint]: hostile.url }, license }
  const { id } = await client.call('createWorker', { body })
  const ignores = (worker: WorkerView, value: string) =>
    worker.conditions.some(each => each.type === CONDITION.endpointIgnored && each.reason.params.value === value)
  await until(client, each => each.id === id && ignores(each, hostile.url))
  const { id: foundId } = await until(client, each => each.ec2_instance_id === found.id)
  await offerSecrets(client, foundId)
  const { port } = hostile
  const tags = [
    `https://localhost:${port}`,
    `https://${found.address}@127.0.0.1:${port}`,
    `https://${found.address}:443@127.0.0.1:${port}/`,
    `https://[::1]:${port}`,
    `https://[::ffff:127.0.0.1]:${port}`,
    `HTTPS://LOCALHOST:${port}`,
    `https://１２７.0.0.1:${port}`,
    `https://ⓛocalhost:${port}`,
    `https://127.0.0.1:${port}/?${found.address}`,
    ofNodes.url,
    `https://${found.address}:0${ofNodes.port}`,
  ]
  for (const value of tags) {
    await tag(simulator, found.id, value)
    await until(client, each => each.id === foundId && ignores(each, value))
  }
  expect(hostile.received).toEqual([])
  expect(ofNodes.received).toEqual([])
})

it('sends no password, token or cookie to a machine at its own address before it is approved', {
  timeout: 120_000,
}, async () => {
  const { client, simulator } = await startLcm()
  const found = await foundMachine(simulator)
  // The tag names the own address of the machine, so it is used.
  const hostile = await hostileCml(found.address)
  await tag(simulator, found.id, hostile.url)
  const seen = await until(
    client,
    each =>
      each.ec2_instance_id === found.id &&
      each.https_endpoint === hostile.url &&
      (each.approval?.state === 'required' || each.service_status === 'AVAILABLE'),
  )
  const { id } = seen
  await offerSecrets(client, id)
  expect(taken(hostile)).toEqual([])
  expect(hostile.received.length, 'the public part of CML is read').toBeGreaterThan(0)
  const shown = await until(client, each => each.id === id && each.cml.seen_certificate_sha256 !== null)
  expect(shown).toMatchObject({
    approval: { state: 'required' },
    service_status: 'UNAVAILABLE',
    cml: { certificate_sha256: null, seen_certificate_sha256: hostile.fingerprint },
  })
  // Another server than the one that the operator expects gets nothing either.
  await client.call('approveWorker', { params: { id }, body: { fingerprint: OTHER_FINGERPRINT } })
  const changed = await until(
    client,
    each =>
      each.id === id && each.conditions.some(({ type, status }) => type === CONDITION.certificateChanged && status),
  )
  expect(changed).toMatchObject({ approval: { state: 'approved' }, service_status: 'UNAVAILABLE' })
  expect(taken(hostile)).toEqual([])
  const repin = (fingerprint: string) => client.call('repinWorker', { params: { id }, body: { fingerprint } })
  await expect(repin('cd'.repeat(32))).rejects.toThrow(hostile.fingerprint)
  expect(taken(hostile)).toEqual([])
  await repin(hostile.fingerprint)
  await until(client, each => each.id === id && each.service_status === 'AVAILABLE')
  const sent = (text: string) => hostile.received.filter(({ body }) => body.includes(text))
  await client.call('refreshWorker', { params: { id }, body: {} })
  await hostile.until(() => sent(OWN_PASSWORD).length > 0)
  expect(sent(PASSWORD)).toEqual([])
  expect(hostile.received.filter(({ headers }) => headers.includes(COOKIE))).toEqual([])
})

it('sends nothing to another server that takes over the address of an approved machine', {
  timeout: 120_000,
}, async () => {
  const { client, simulator } = await startLcm()
  const found = await foundMachine(simulator)
  const own = await hostileCml(found.address)
  await tag(simulator, found.id, own.url)
  const { id } = await until(client, each => each.ec2_instance_id === found.id && each.https_endpoint === own.url)
  const params = { id }
  await client.call('approveWorker', { params, body: { fingerprint: own.fingerprint } })
  await until(client, each => each.id === id && each.service_status === 'AVAILABLE')
  // Both controllers hold sessions with it.
  await client.call('refreshWorker', { params, body: {} })
  const hasScanned = () => own.received.some(({ line }) => line === 'GET /api/v0/labs?show_all=true')
  await own.until(hasScanned)
  await own.close()
  const stranger = await hostileCml(found.address, own.port)
  expect(stranger.fingerprint).not.toBe(own.fingerprint)
  await offerSecrets(client, id)
  await until(
    client,
    each =>
      each.id === id && each.conditions.some(({ type, status }) => type === CONDITION.certificateChanged && status),
  )
  await offerSecrets(client, id)
  expect(taken(stranger)).toEqual([])
  expect(stranger.received, 'not even the public part is asked under another certificate').toEqual([])
})

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
import { CONDITION } from '@lcm/domain/worker/worker'
import { up } from '@lcm/lcm/serve/up'
import { systemClock } from '@lcm/runtime/clock'
import { afterEach, expect, it } from 'vitest'
import { followWorkers } from './follow-workers.ts'

const PASSWORD = 'password-of-the-whole-fleet'
const OWN_PASSWORD = 'password-of-this-server-alone'
const TOKEN = 'token-of-the-smart-account'
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

/** A TLS server that poses as CML and records all requests. */
async function hostileCml(host: string) {
  const { certificate_pem: cert, key_pem: key } = selfSigned('cml', Date.parse('2026-01-02T03:04:05.000Z'))
  const received: string[] = []
  const waiting = new Set<() => void>()
  const sockets = new Set<Duplex>()
  const server = createServer({ cert, key })
  server.on('connection', socket => sockets.add(socket))
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    received.push(`${request.method} ${request.url} ${Buffer.concat(chunks)}`)
    for (const check of waiting) check()
    const body = ANSWERS[request.url ?? ''] ?? {}
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, host)
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const until = (isSo: () => boolean) =>
    new Promise<void>(resolve => {
      const check = () => {
        if (isSo()) resolve()
      }
      waiting.add(check)
      check()
    })
  return { url: `https://${host}:${(server.address() as AddressInfo).port}`, received, until }
}

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
  const found = items.filter(({ tags }) => tags['cml-managed'] === 'true' && tags['lcm:fleet'] === undefined)
  expect(found).toHaveLength(1)
  return { id: found[0]?.instance_id ?? '', address: new URL(found[0]?.endpoint ?? '').hostname }
}

interface SimMachine {
  readonly instance_id: string
  readonly endpoint: string | null
  readonly tags: Readonly<Record<string, string>>
}

async function tag(simulator: string, id: string, endpoint: string): Promise<void> {
  const body = JSON.stringify({ tags: { 'cml-endpoint': endpoint } })
  const { status } = await fetch(`${simulator}/instances/${id}/tag`, { method: 'POST', body })
  expect(status).toBeLessThan(300)
}

it('sends no password and no license token to a hostile CML server that a tag names', { timeout: 60_000 }, async () => {
  const hostile = await hostileCml('localhost')
  const { client, simulator } = await startLcm()
  // One machine that LCM did not launch, and one of LCM that is tagged before LCM first connects to its CML.
  const found = await foundMachine(simulator)
  await tag(simulator, found.id, hostile.url)
  const license = { product: 'CML_Enterprise', token: TOKEN }
  const body = { template_name: 'nested', name: 'launched', tags: { 'cml-endpoint': hostile.url }, license }
  const { id } = await client.call('createWorker', { body })
  const workers = await followWorkers(client, all => {
    const tagged = all.filter(each => each.id === id || each.ec2_instance_id === found.id)
    const isIgnored = tagged.every(({ conditions }) => conditions.some(each => each.type === CONDITION.endpointIgnored))
    return hostile.received.length > 0 || (tagged.length === 2 && isIgnored)
  })
  expect(hostile.received).toEqual([])
  expect(workers.map(each => each.https_endpoint)).not.toContain(hostile.url)
})

it('sends a discovered machine only its own credentials, from both controllers', {
  timeout: 60_000,
}, async () => {
  const { client, simulator } = await startLcm()
  const found = await foundMachine(simulator)
  // The tag names the own address of the machine, so it is used.
  const hostile = await hostileCml(found.address)
  await tag(simulator, found.id, hostile.url)
  const isFound = (worker: WorkerView) => worker.ec2_instance_id === found.id
  const [worker] = (
    await followWorkers(client, all => all.some(each => isFound(each) && each.service_status === 'AVAILABLE'))
  ).filter(isFound)
  expect(worker?.https_endpoint).toBe(hostile.url)
  const id = worker?.id ?? ''
  await client.call('putWorkerCredentials', { params: { id }, body: { username: 'admin', password: OWN_PASSWORD } })
  await client.call('refreshWorker', { params: { id }, body: {} })
  const received = (text: string) => hostile.received.filter(each => each.includes(text))
  await hostile.until(
    () => received(PASSWORD).length > 0 || (received(OWN_PASSWORD).length === 2 && received('/labs').length > 0),
  )
  expect(received(PASSWORD)).toEqual([])
  expect(received('/auth_extended'), 'one login by each controller').toHaveLength(2)
})

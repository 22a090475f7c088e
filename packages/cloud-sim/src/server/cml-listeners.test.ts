import { once } from 'node:events'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { machineToProbe } from '../conformance/compute-and-metrics-fixtures.ts'
import type { Addressing } from '../machine-addresses.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { memorySimStore } from '../sim-store.ts'
import { type SimServer, startSimServer } from './server.ts'

const ROUNDS_MAX = 100_000
const warnings: string[] = []
const log = { info: () => undefined, warn: (_fields: object, message: string) => warnings.push(message) }
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  warnings.length = 0
  for (const close of closers.splice(0).reverse()) await close()
})

/** A seed of its own, so that this file never shares addresses with files that run in parallel. */
const SEED = process.pid * 31

async function open(addressing?: Addressing) {
  const clock = manualClock()
  const store = { ...memorySimStore() }
  const model = openSimModel({ seed: SEED, clock, store })
  const server = await serve(model, clock, addressing)
  const machine = machineToProbe(model, ms => clock.advance(ms))
  const reach = async (stage: CmlStage) => {
    while (model.cml.stageOf(machine.id) !== stage) await machine.toNextChange()
    await servedIs(server, stage !== 'NOTHING')
  }
  return { clock, store, model, server, machine, reach }
}

async function serve(model: SimModel, clock: ReturnType<typeof manualClock>, addressing?: Addressing) {
  const server = await startSimServer({ model, clock, log, ...(addressing ? { addressing } : {}) })
  closers.push(server.close)
  return server
}

/** Opening and closing a port takes a few iterations of the event loop. */
async function until(holds: () => boolean): Promise<void> {
  const { advance } = manualClock()
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (holds()) return
    await advance(0)
  }
  throw new Error(`never so: ${holds}`)
}

const servedIs = (server: SimServer, wanted: boolean) =>
  until(() => {
    const { body } = server.control.handle({ method: 'GET', url: '/sim/v1/instances' })
    return 'items' in body && Array.isArray(body.items) && body.items[0]?.served === wanted
  })

interface Seen {
  readonly status: number
  readonly text: string
  readonly server: string
}

/** The response, or the error code. */
function get(endpoint: string | null, path: string, method = 'GET'): Promise<Seen | string> {
  return new Promise(resolve => {
    const sent = request(`${endpoint}${path}`, { method, rejectUnauthorized: false, agent: false }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, server: String(response.headers.server) }),
      )
    })
    sent.on('error', error => resolve('code' in error ? String(error.code) : error.message))
    sent.end()
  })
}

function connected(endpoint: string | null): Promise<TLSSocket> {
  const { hostname, port } = new URL(endpoint ?? '')
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => resolve(socket))
    socket.on('error', reject)
  })
}

const INFORMATION = '/api/v0/system_information'

describe('a simulated CML server', () => {
  it('refuses connections, then shows nginx, then the API', async () => {
    const { machine, reach } = await open()
    await machine.toNextChange()
    expect(await get(machine.endpoint(), INFORMATION)).toBe('ECONNREFUSED')
    await reach('GATEWAY')
    const gateway = await get(machine.endpoint(), INFORMATION)
    expect(gateway).toMatchObject({ status: 502, server: 'nginx', text: expect.stringContaining('502 Bad Gateway') })
    await reach('API')
    const answer = await get(machine.endpoint(), INFORMATION)
    expect(answer).toEqual({
      status: 200,
      server: 'nginx',
      text: '{"version":"2.9.1+build.7","ready":false,"allow_ssh_pubkey_auth":false,"oui":"52:54:00:00:00:00"}',
    })
  })

  it("returns CML's errors for unknown paths", async () => {
    const { machine, reach } = await open()
    await reach('READY')
    expect(await get(machine.endpoint(), '/api/v0/nothing')).toMatchObject({
      status: 404,
      text: '{"code":404,"description":"Not Found"}',
    })
    expect(await get(machine.endpoint(), INFORMATION, 'POST')).toMatchObject({
      status: 405,
      text: '{"code":405,"description":"405: Method Not Allowed"}',
    })
  })

  it('closes its connections as soon as the machine is stopped', async () => {
    const { machine, reach, server } = await open()
    await reach('READY')
    const endpoint = machine.endpoint()
    const socket = await connected(endpoint)
    const ended = new Promise(resolve => socket.once('close', resolve))
    server.control.handle({ method: 'POST', url: `/sim/v1/instances/${machine.id}/stop` })
    await ended
    expect(await get(endpoint, INFORMATION)).toBe('ECONNREFUSED')
  })

  it('listens at once, with the same certificate, when the simulator restarts', async () => {
    const { machine, reach, server, store, clock } = await open()
    await reach('READY')
    const before = (await connected(machine.endpoint())).getPeerCertificate().fingerprint256
    await server.close()
    expect(await get(machine.endpoint(), INFORMATION)).toBe('ECONNREFUSED')
    const again = await serve(openSimModel({ seed: SEED, clock, store }), clock)
    await servedIs(again, true)
    expect((await connected(machine.endpoint())).getPeerCertificate().fingerprint256).toBe(before)
  })

  it("retries when its certificate can't be stored", async () => {
    const { machine, model, clock, server, reach, store } = await open()
    const commit = store.commit
    store.commit = () => {
      throw new Error('disk full')
    }
    while (model.cml.stageOf(machine.id) !== 'TCP') await machine.toNextChange()
    expect(warnings).toHaveLength(1)
    store.commit = commit
    await clock.advance(1000)
    await servedIs(server, true)
    await reach('READY')
  })

  it('has a port of its own where all machines share one address', async () => {
    const { machine, reach } = await open('ports')
    await reach('READY')
    expect(machine.endpoint()).toMatch(/^https:\/\/127\.0\.0\.1:2\d{4}$|^https:\/\/127\.0\.0\.1:3[01]\d{3}$/)
    expect(await get(machine.endpoint(), INFORMATION)).toMatchObject({ status: 200 })
  })

  it('retries while another process holds its address', async () => {
    const { machine, reach, server, clock } = await open()
    await machine.toNextChange()
    const { hostname, port } = new URL(machine.endpoint() ?? '')
    const squatter = createServer().listen({ host: hostname, port: Number(port) })
    await once(squatter, 'listening')
    const waiting = reach('TCP')
    await until(() => warnings.length > 0)
    squatter.close()
    await clock.advance(1000)
    await waiting
    await servedIs(server, true)
  })
})

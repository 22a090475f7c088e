import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { machineToProbe } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import { startSimServer } from './server.ts'

const ROUNDS_MAX = 100_000
const log = { info: () => undefined, warn: () => undefined }
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A seed of its own, so that this file never shares addresses with files that run in parallel. */
const SEED = process.pid * 37 + 5
const KIB = 1024
const MIB = 1024 * KIB

interface Heard {
  readonly status: number
  readonly text: string
  readonly type: string
  readonly server: string
}

interface Sent {
  readonly endpoint: string | null
  readonly method: string
  readonly path: string
  readonly token?: string
  readonly body?: string
  /** Sent in chunks without a content length. */
  readonly chunked?: boolean
}

function send({ endpoint, method, path, token, body, chunked = false }: Sent): Promise<Heard> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const options = { method, headers, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const sent = request(`${endpoint}/api/v0${path}`, options, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      const { 'content-type': type = '', server } = response.headers
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, type, server: String(server) }))
    })
    sent.on('error', reject)
    if (chunked) sent.write(body ?? '')
    sent.end(chunked ? '' : body)
  })
}

/** Fingerprint of the certificate that a client gets now, in lower-case hex; null when no server listens. */
function certificateAt(endpoint: string | null): Promise<string | null> {
  const { hostname, port } = new URL(endpoint ?? '')
  return new Promise(resolve => {
    const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256.replaceAll(':', '').toLowerCase())
      socket.destroy()
    })
    socket.on('error', () => resolve(null))
  })
}

async function open() {
  const clock = manualClock()
  const model = openSimModel({ seed: SEED, clock })
  const server = await startSimServer({ model, clock, log })
  closers.push(server.close)
  const machine = machineToProbe(model, ms => clock.advance(ms))
  while (await machine.toNextChange());
  const until = async (holds: () => boolean | Promise<boolean>) => {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (await holds()) return
      await clock.advance(0)
    }
    throw new Error(`never so: ${holds}`)
  }
  const control = (method: string, path: string, body: object = {}) => {
    return server.control.handle({ method, url: `/sim/v1${path}`, body: JSON.stringify(body) })
  }
  await until(() => JSON.stringify(control('GET', '/instances').body).includes('"served":true'))
  const raw = (method: string, path: string, body?: string) =>
    send({ endpoint: machine.endpoint(), method, path, ...(body === undefined ? {} : { body }) })
  const login = JSON.stringify({ username: 'admin', password: 'lablet' })
  const token: string = JSON.parse((await raw('POST', '/authenticate', login)).text)
  const ask = (method: string, path: string, body?: string) =>
    send({ endpoint: machine.endpoint(), method, path, token, ...(body === undefined ? {} : { body }) })
  const settle = async () => {
    for (let at = model.cml.changesAtMs(machine.id); at !== null; at = model.cml.changesAtMs(machine.id)) {
      await clock.advance(at - model.now())
    }
  }
  return { clock, model, server, machine, raw, ask, until, settle, control }
}

const TOPOLOGY = `
lab:
  version: 0.3.0
  title: From a file
nodes:
  - id: n0
    label: router
    node_definition: iosv
    x: 0
    y: 0
    configuration: |
      hostname router
    tags: ["serial:4001", "pat:4022:22"]
    interfaces:
      - {id: i0, label: GigabitEthernet0/0, slot: 0, type: physical}
  - id: n1
    label: outside
    node_definition: external_connector
    x: 100
    y: 0
    configuration: NAT
    interfaces:
      - {id: i0, label: port, slot: 0, type: physical}
links:
  - {id: l0, n1: n0, i1: i0, n2: n1, i2: i0}
`

describe('over the wire', () => {
  it('a lab is imported, started, stopped, wiped and deleted', async () => {
    const { ask, settle } = await open()
    const imported = await ask('POST', '/import?title=Mine', TOPOLOGY)
    expect(imported).toMatchObject({ status: 200, server: 'nginx', type: 'application/json' })
    const { id } = JSON.parse(imported.text)
    expect((await ask('GET', '/labs?show_all=')).text).toBe(JSON.stringify([id]))
    expect(await ask('PUT', `/labs/${id}/start`)).toMatchObject({ status: 204, text: '' })
    expect((await ask('GET', `/labs/${id}/check_if_converged`)).text).toBe('false')
    await settle()
    expect((await ask('GET', `/labs/${id}/check_if_converged`)).text).toBe('true')
    expect((await ask('GET', `/labs/${id}/state`)).text).toBe('"STARTED"')
    const topology = JSON.parse((await ask('GET', `/labs/${id}/topology?exclude_configurations=`)).text)
    expect(topology).toMatchObject({
      lab: { title: 'Mine' },
      links: [{ interface_a: topology.nodes[0].interfaces[0].id }],
    })
    expect(topology.nodes[0]).toMatchObject({ label: 'router', configuration: 'hostname router\n' })
    const file = await ask('GET', `/labs/${id}/download`)
    expect(file.text).toMatch(/^lab:\n {2}version: 0\.3\.0\n {2}title: Mine\n/)
    expect((await ask('DELETE', `/labs/${id}`)).status).toBe(400)
    expect((await ask('PUT', `/labs/${id}/wipe`)).status).toBe(400)
    for (const act of ['stop', 'wipe']) {
      expect((await ask('PUT', `/labs/${id}/${act}`)).status).toBe(204)
      await settle()
    }
    expect((await ask('DELETE', `/labs/${id}`)).status).toBe(204)
    expect(await ask('GET', `/labs/${id}`)).toMatchObject({
      status: 404,
      text: JSON.stringify({ code: 404, description: `Lab not found: ${id}` }),
    })
  })

  it('a license is requested, granted, held and returned', async () => {
    const { ask, settle, model } = await open()
    const licensing = async () => JSON.parse((await ask('GET', '/licensing')).text)
    expect(await licensing()).toMatchObject({ registration: { status: 'NOT_REGISTERED' } })
    expect((await ask('PUT', '/licensing/product_license', '"CML_Enterprise"')).status).toBe(400)
    expect((await ask('PUT', '/licensing/product_license', '"CML_Personal40"')).status).toBe(204)
    const transport = JSON.stringify({ ssms: null, proxy: { server: 'proxy', port: 3128 } })
    expect((await ask('PUT', '/licensing/transport', transport)).status).toBe(204)
    const token = (text: string) => JSON.stringify({ token: text, reregister: false })
    expect((await ask('POST', '/licensing/registration', token('an-invalid-one'))).status).toBe(204)
    await settle()
    const { registration } = await licensing()
    expect(registration).toMatchObject({
      status: 'FAILED',
      register_time: { failure: expect.stringContaining('an-invalid-one') },
    })
    expect((await ask('POST', '/licensing/registration', token('Good+Token=='))).status).toBe(204)
    expect((await ask('POST', '/licensing/registration', token('Good+Token=='))).status).toBe(409)
    await settle()
    expect(await licensing()).toMatchObject({
      registration: { status: 'COMPLETED', expires: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) },
      authorization: { status: 'IN_COMPLIANCE' },
      product_license: { active: 'CML_Personal40', is_enterprise: false },
      transport: { ssms: null, proxy: { server: 'proxy', port: 3128 } },
    })
    expect((await ask('PUT', '/licensing/authorization/renew')).status).toBe(204)
    expect((await ask('GET', '/diagnostics/licensing')).text).toContain('"quota":40')
    expect(model.cml.smartAccount()).toHaveLength(1)
    expect(await ask('DELETE', '/licensing/deregistration')).toMatchObject({ status: 204, text: '' })
    expect(model.cml.smartAccount()).toEqual([])
    expect(await ask('DELETE', '/licensing/deregistration')).toMatchObject({ status: 400, text: '' })
  })

  it('a deregistration takes effect before its delayed response', async () => {
    const { ask, settle, model, machine, control, clock, until } = await open()
    await ask('POST', '/licensing/registration', '{"token":"good"}')
    await settle()
    control('PATCH', `/instances/${machine.id}/cml/faults`, { deregistration_held_s: 30 })
    const answers: Heard[] = []
    const waiting = ask('DELETE', '/licensing/deregistration').then(answer => answers.push(answer))
    await until(() => model.cml.smartAccount().length === 0)
    expect((await ask('GET', '/labs')).status).toBe(200)
    expect(answers).toEqual([])
    await clock.advance(30_000)
    await waiting
    expect(answers).toMatchObject([{ status: 204 }])
  })

  it('large bodies are rejected before they are read, except for topologies', async () => {
    const { ask, machine } = await open()
    const note = JSON.stringify({ notes: 'x'.repeat(100 * KIB) })
    expect(await ask('POST', '/labs', note)).toMatchObject({ status: 413, type: 'text/html' })
    const endpoint = machine.endpoint()
    expect((await send({ endpoint, method: 'POST', path: '/labs', body: note, chunked: true })).status).toBe(413)
    const large = TOPOLOGY.replace('hostname router', 'x'.repeat(2 * MIB))
    expect((await ask('POST', '/import', large)).status).toBe(200)
    const tooLarge = await ask('POST', '/import', 'x'.repeat(20 * MIB + 1)).catch(error => error)
    // The connection may be closed before the client has read the response.
    expect(tooLarge.status ?? tooLarge.code).toSatisfy((seen: unknown) =>
      ['413', 'ECONNRESET', 'EPIPE'].includes(String(seen)),
    )
  })

  it('unknown paths return 404, and other calls need a login', async () => {
    const { ask, raw } = await open()
    expect((await ask('GET', '/nothing')).text).toBe('{"code":404,"description":"Not Found"}')
    expect((await raw('GET', '/labs')).status).toBe(401)
    expect((await raw('POST', '/authenticate', '{"username":')).status).toBe(400)
    expect((await raw('GET', '/system_information')).status).toBe(200)
  })

  it('running nodes are reachable at the ports that their tags name', async () => {
    const { ask, settle, machine, until, control } = await open()
    const { hostname } = new URL(machine.endpoint() ?? '')
    const greeting = async (port: number): Promise<string> => {
      const socket = connect({ host: hostname, port })
      try {
        const [data] = await once(socket, 'data')
        return String(data)
      } catch (error) {
        return error instanceof Error && 'code' in error ? String(error.code) : 'failed'
      } finally {
        socket.destroy()
      }
    }
    const { id } = JSON.parse((await ask('POST', '/import?title=Mine', TOPOLOGY)).text)
    expect(await greeting(4001)).toBe('ECONNREFUSED')
    await ask('PUT', `/labs/${id}/start`)
    await settle()
    await until(async () => (await greeting(4001)) !== 'ECONNREFUSED')
    expect(await greeting(4001)).toMatch(/serial of node 'router' in lab 'Mine'/)
    expect(await greeting(4022)).toMatch(/pat of node 'router'/)
    const page = await fetch(`http://${hostname}:4022/`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("node 'router' in lab 'Mine'")])
    await ask('PUT', `/labs/${id}/stop`)
    await settle()
    await until(async () => (await greeting(4001)) === 'ECONNREFUSED')
    expect(await greeting(4022)).toBe('ECONNREFUSED')
    await ask('PUT', `/labs/${id}/start`)
    await settle()
    await until(async () => (await greeting(4001)) !== 'ECONNREFUSED')
    control('POST', `/instances/${machine.id}/stop`)
    await until(async () => (await greeting(4001)) === 'ECONNREFUSED')
  })

  it('a replaced certificate is used for the next connection', async () => {
    const { machine, model, control, until } = await open()
    const before = model.cml.fingerprintOf(machine.id)
    control('POST', `/instances/${machine.id}/cml/replace-certificate`)
    expect(model.cml.fingerprintOf(machine.id)).not.toBe(before)
    await until(async () => (await certificateAt(machine.endpoint())) === model.cml.fingerprintOf(machine.id))
  })

  it('no timer runs while no change is planned', async () => {
    const { ask, clock, settle } = await open()
    const { id } = JSON.parse((await ask('POST', '/import', TOPOLOGY)).text)
    expect(clock.timersLeft()).toBe(0)
    await ask('PUT', `/labs/${id}/start`)
    expect(clock.timersLeft()).toBe(1)
    await settle()
    expect(clock.timersLeft()).toBe(0)
  })
})

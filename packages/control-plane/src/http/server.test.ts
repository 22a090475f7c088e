import { mkdtempSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, METHODS, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { makeCertificates } from '@lcm/coordination/testing/certificates'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TOPOLOGY } from '../testing/bookable-fleet.ts'
import { startServer } from './server.ts'

let plane: ReturnType<typeof aControlPlane>
let server: Awaited<ReturnType<typeof startServer>>

beforeEach(async () => {
  plane = aControlPlane()
  const consoleDir = mkdtempSync(join(tmpdir(), 'lcm-console-'))
  writeFileSync(join(consoleDir, 'index.html'), '<!doctype html><title>console</title>')
  const hostnames = ['localhost', '127.0.0.1', '[::1]']
  server = await startServer({
    dispatch: plane.dispatch,
    clock: systemClock,
    host: 'localhost',
    port: 0,
    hostnames,
    consoleDir,
  })
})
afterEach(() => server.close())

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.url + path, { headers: { authorization: 'Bearer admin', ...headers } })

/** Unlike fetch, this can send a false host header. */
const statusFor = (path: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    const { port } = new URL(server.url)
    request({ port, host: '127.0.0.1', path, headers }, response => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })

describe('the server', () => {
  it('serves the console and the API from one port', async () => {
    const page = await get('/')
    expect(await page.text()).toContain('console')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
    const api = await get('/api/v1/workers')
    expect(await api.json()).toMatchObject({ items: [], next_cursor: null })
    expect(api.headers.get('cache-control')).toBe('no-store')
    expect(api.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it.each([
    ['/api/v1/lablet-definitions', 'POST', 4, 201],
    ['/api/v1/lablet-definitions', 'POST', 6, 413],
    ['/api/v1/lablet-definitions/ld-1', 'PUT', 4, 404],
    ['/api/v1/workers', 'POST', 0.1, 413],
    ['/api/v1/services/worker-controller/term', 'PUT', 0.9, 403],
    ['/api/v1/services/worker-controller/term', 'PUT', 2, 413],
    ['/logout', 'POST', 0.1, 413],
  ])('answers at %s by %s a body of %f MB with %i', async (path, method, megabytes, status) => {
    const body = JSON.stringify({ ...(method === 'POST' ? { name: 'bgp' } : {}), topology: TOPOLOGY })
    const answer = await fetch(server.url + path, {
      method,
      headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
      body: body.padEnd(megabytes * 1_000_000),
    })
    expect(answer.status).toBe(status)
  })

  it('listens on localhost over IPv4 and IPv6', async () => {
    const { port } = new URL(server.url)
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    const six = await fetch(`http://[::1]:${port}/health`).catch(() => null)
    if (six) expect(six.status).toBe(200)
  })

  it('formats an IPv6 address with brackets', async () => {
    const at = { clock: systemClock, host: '::1', port: 0, hostnames: ['[::1]'], consoleDir: null }
    const six = await startServer({ ...at, dispatch: plane.dispatch }).catch(() => null)
    if (six) expect((await fetch(`${six.url}/health`)).status).toBe(200)
    await six?.close()
  })

  it('answers HEAD requests of load balancers', async () => {
    for (const path of ['/health', '/ready']) {
      const answer = await fetch(`${server.url}${path}`, { method: 'HEAD' })
      expect([answer.status, await answer.text()]).toEqual([200, ''])
    }
  })

  it('answers only to its own host names, against DNS rebinding', async () => {
    expect(await statusFor('/health', { host: 'localhost:1' })).toBe(200)
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1']) {
      expect(await statusFor('/', { host }), host).toBe(421)
      expect(await statusFor('/api/v1/info', { host }), host).toBe(421)
    }
  })

  it.each([
    [Buffer.from([0x7b, 0xff, 0x7d]), 400, 'malformed_json'],
    [Buffer.alloc(2 * 1024 * 1024, 0x20), 413, 'body_too_large'],
  ])('refuses a body that is not text or too large', async (body, status, code) => {
    const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/api/v1/workers`, { method: 'POST', headers, body })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ code })
  })

  it('names the limit of the path in its refusal', async () => {
    const headers = { authorization: 'Bearer user', 'content-type': 'application/json' }
    const body = Buffer.alloc(65 * 1024, 0x20)
    const response = await fetch(`${server.url}/api/v1/lablet-sessions`, { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ detail: 'the body is larger than 64 KiB, the limit of this path' })
  })

  it('answers unknown paths with a problem', async () => {
    const response = await get('/no/such/file.js')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'not_found' })
    expect((await get('/../../package.json')).status).toBe(404)
    expect((await get('/%2e%2e/%2e%2e/package.json')).status).toBe(404)
  })

  it('streams events to the client, and ends the stream when the server closes', async () => {
    const client = apiClient(httpTransport({ baseUrl: server.url, clock: systemClock }), { token: 'admin' })
    const stream = client.events({ signal: new AbortController().signal })
    expect((await stream.next()).value).toMatchObject({ event: { type: 'heartbeat' } })
    const worker = await plane.create()
    await stream.next()
    expect((await stream.next()).value).toMatchObject({ event: { type: 'worker.created', data: worker } })
    const end = stream.next().then(
      ({ done }) => done,
      () => true,
    )
    await server.close()
    expect(await end).toBe(true)
  })

  it('sends no body where there is none', async () => {
    const worker = await plane.create()
    await plane.send('POST', `workers/${worker.id}/terminate`)
    await plane.report(worker.id, 2, { status: 'TERMINATED' })
    const response = await fetch(`${server.url}/api/v1/workers/${worker.id}`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer admin' },
    })
    expect([response.status, await response.text()]).toEqual([204, ''])
  })
})

it('returns 404 for a path outside the console', async () => {
  expect(await statusFor('/../../package.json', { host: 'localhost' })).toBe(404)
})

it.each(['/%00', '/%ff', '/api/v1/workers/%zz', '/services/%ff/health'])(
  'answers with its own problem for %s',
  async path => {
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(await response.json()).toMatchObject({ code: 'not_found' })
  },
)

it.each(['QUERY', 'PROPFIND', 'TRACE', 'OPTIONS'].filter(method => METHODS.includes(method)))(
  'lets the route refuse %s, not the framework',
  async method => {
    const { port } = new URL(server.url)
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ port, host: '127.0.0.1', path: '/api/v1/workers', method }, answer => resolve(answer.resume()))
        .on('error', reject)
        .end()
    })
    expect(response).toMatchObject({ statusCode: 405, headers: { allow: 'GET, POST' } })
  },
)

it('returns a problem for a body of an unsupported type', async () => {
  const headers = { authorization: 'Bearer admin', 'content-type': '@@@' }
  const response = await fetch(`${server.url}/api/v1/workers`, { method: 'POST', headers, body: '{}' })
  expect(response.status).toBe(415)
  expect(await response.json()).toMatchObject({ code: 'unsupported_media_type' })
})

it('serves a whole file for any requested range', async () => {
  const response = await get('/index.html', { range: 'bytes=9999-1' })
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('console')])
})

it('ends a broken stream, and frees its slot', async () => {
  async function* broken() {
    yield 'data: 1\n\n'
    throw new Error('the store is gone')
  }
  const dispatch = async () => ({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: broken() })
  const other = await startServer({
    dispatch,
    clock: systemClock,
    host: 'localhost',
    port: 0,
    hostnames: ['localhost'],
    consoleDir: null,
  })
  for (let i = 0; i < 3; i++) expect(await (await fetch(`${other.url}/api/v1/events`)).text()).toBe('data: 1\n\n')
  await other.close()
})

describe('a server that closes', () => {
  /** Serves requests that wait for `release`, and counts those that have started. */
  async function slowServer(clock = systemClock) {
    let release = () => undefined as unknown
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    let onStart = () => undefined as unknown
    const isAsked = new Promise<void>(resolve => {
      onStart = resolve
    })
    const dispatch = async () => {
      onStart()
      await released
      return { status: 200, headers: {}, body: 'done' }
    }
    const options = { dispatch, clock, host: 'localhost', port: 0, hostnames: ['localhost'], consoleDir: null }
    const slow = await startServer(options)
    const answer = fetch(`${slow.url}/api/v1/workers`)
    answer.catch(() => undefined)
    await isAsked
    return { slow, answer, release }
  }

  it('finishes requests in progress', async () => {
    const { slow, answer, release } = await slowServer()
    const closed = slow.close()
    await expect(fetch(slow.url)).rejects.toThrow()
    release()
    expect(await (await answer).text()).toBe('done')
    await closed
  })

  it('aborts them on hurry', async () => {
    const { slow, answer, release } = await slowServer(manualClock())
    const hurry = new AbortController()
    const closed = slow.close(hurry.signal)
    hurry.abort()
    await closed
    await expect(answer).rejects.toThrow()
    release()
  })

  it('spreads the reconnects of event streams', async () => {
    const listeners = await Promise.all([get('/api/v1/events'), get('/api/v1/events')])
    const closed = server.close()
    const texts = await Promise.all(listeners.map(each => each.text()))
    await closed
    const delays = texts.map(text => Number(/\nretry: (\d+)\n\n$/.exec(text)?.[1]))
    expect(delays.toSorted((a, b) => a - b)).toEqual([500, 1500])
  })

  it('finishes a file in progress, and closes the connections of new requests', async () => {
    let release = () => undefined as unknown
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    async function* halves() {
      yield Buffer.from('one half, ')
      await released
      yield Buffer.from('the other')
    }
    const ending = new AbortController()
    const filing = await startServer({
      dispatch: async ({ url }) =>
        url === '/health'
          ? { status: 200, headers: {}, body: 'fine' }
          : { status: 200, headers: {}, body: null, file: halves() },
      clock: systemClock,
      host: 'localhost',
      port: 0,
      hostnames: ['localhost'],
      consoleDir: null,
      ending: ending.signal,
    })
    const file = await fetch(`${filing.url}/api/v1/backup`)
    expect((await fetch(`${filing.url}/health`)).headers.get('connection')).toBe('keep-alive')
    ending.abort()
    expect((await fetch(`${filing.url}/health`)).headers.get('connection')).toBe('close')
    const closed = filing.close()
    release()
    expect(await file.text()).toBe('one half, the other')
    await closed
  })

  it('waits for them up to a limit', async () => {
    const clock = manualClock()
    const { slow, answer, release } = await slowServer(clock)
    const closed = slow.close()
    await clock.advance(10_000)
    await closed
    await expect(answer).rejects.toThrow()
    release()
  })
})

it('reports the port that is in use', async () => {
  const port = Number(new URL(server.url).port)
  const again = startServer({
    dispatch: plane.dispatch,
    clock: systemClock,
    host: 'localhost',
    port,
    hostnames: [],
    consoleDir: null,
  })
  await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

describe('a server with a certificate', () => {
  it('serves HTTPS, also on IPv6, and tells browsers to use nothing else for its names but those of loopback', async () => {
    const certificates = makeCertificates()
    const secure = await startServer({
      dispatch: plane.dispatch,
      clock: systemClock,
      host: 'localhost',
      port: 0,
      hostnames: ['localhost', '127.0.0.1', 'lcm.example'],
      publicUrl: 'https://localhost',
      consoleDir: null,
      certificate: { cert: certificates.text('server.crt'), key: certificates.text('server.key') },
    })
    const { port } = new URL(secure.url)
    const hstsFor = (host: string) =>
      new Promise((resolve, reject) => {
        const options = {
          port,
          host: 'localhost',
          path: '/health',
          ca: certificates.text('ca.crt'),
          servername: 'localhost',
          headers: { host },
        }
        requestTls(options, response => resolve(response.resume().headers['strict-transport-security']))
          .on('error', reject)
          .end()
      })
    expect(secure.url).toMatch(/^https:/)
    expect(await hstsFor('lcm.example')).toBe('max-age=31536000')
    expect(await hstsFor(`localhost:${port}`)).toBeUndefined()
    await secure.close()
    certificates.remove()
  })
})

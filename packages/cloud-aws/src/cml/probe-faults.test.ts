import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { CmlProbe } from '@lcm/cloud/cml-system'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlSystemClient } from './cml-system.ts'

const IDENTITY = selfSigned('cml', Date.parse('2026-01-02T03:04:05.000Z'))
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const address = server.address()
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

/** An HTTPS server that responds with these bytes. */
async function serverThatWrites(bytes: string) {
  let requestCount = 0
  const server = createHttpsServer({ cert: IDENTITY.certificate_pem, key: IDENTITY.key_pem })
  server.on('secureConnection', socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => {
      requestCount += 1
      socket.end(bytes)
    })
  })
  return { url: await listening(server), requestCount: () => requestCount }
}

const http = (status: string, body: string) =>
  `HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

async function probe(url: string, pin: string | null = null): Promise<CmlProbe> {
  const client = cmlSystemClient({ clock: systemClock })
  const seen = await client.probe({ url, certificate_sha256: pin }, new AbortController().signal)
  await client.close()
  return seen
}

const INFORMATION = '{"version":"2.9.1+build.7","ready":true,"allow_ssh_pubkey_auth":false,"oui":null}'

describe('a probe', () => {
  it.each([
    ['ready', http('200 OK', INFORMATION), 'READY', '2.9.1+build.7'],
    ['up but not ready', http('200 OK', INFORMATION.replace('true', 'false')), 'API', '2.9.1+build.7'],
    [
      'newer, with more fields',
      http('200 OK', '{"ready":true,"version":"2.11.0+sso","features":[]}'),
      'READY',
      '2.11.0+sso',
    ],
    ['silent about readiness', http('200 OK', '{"version":7}'), 'API', null],
    ['behind a gateway', http('502 Bad Gateway', '<html>'), 'GATEWAY', null],
    ['unavailable', http('503 Service Unavailable', ''), 'GATEWAY', null],
    ['failing', http('500 Internal Server Error', '{"code":500,"description":"x"}'), 'GATEWAY', null],
    ['something else', http('404 Not Found', ''), 'GATEWAY', null],
    ['elsewhere', http('302 Found', ''), 'GATEWAY', null],
    ['a web page', http('200 OK', '<html>hello</html>'), 'GATEWAY', null],
    ['a list', http('200 OK', '[]'), 'GATEWAY', null],
    ['not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'TLS', null],
    ['breaking off', `HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${INFORMATION}`, 'TLS', null],
    ['saying nothing', '', 'TLS', null],
    ['endless', http('200 OK', 'x'.repeat(100_000)), 'TLS', null],
  ] as const)('of a server that is %s', async (_name, bytes, stage, version) => {
    const { url } = await serverThatWrites(bytes)
    const seen = await probe(url)
    expect(seen).toMatchObject({ stage, version, certificate_sha256: IDENTITY.sha256 })
    expect(seen.detail === '').toBe(stage === 'READY')
  })

  it('sends no byte of the request to a server with another certificate', async () => {
    const { url, requestCount } = await serverThatWrites(http('200 OK', INFORMATION))
    const refused = await probe(url, 'a'.repeat(64))
    expect(refused).toMatchObject({ stage: 'TLS', certificate_sha256: IDENTITY.sha256 })
    expect(refused.detail).toBe(`the certificate is ${IDENTITY.sha256}, not the pinned ${'a'.repeat(64)}`)
    expect(requestCount()).toBe(0)
    expect(await probe(url, IDENTITY.sha256)).toMatchObject({ stage: 'READY' })
  })

  it('fails on a port that does not speak TLS', async () => {
    const url = await listening(createTcpServer(socket => socket.end('SSH-2.0-OpenSSH_9.6\r\n')))
    expect(await probe(url)).toMatchObject({ stage: 'TCP', certificate_sha256: null })
  })

  it('fails on a closed port, a bad address and an unknown name', async () => {
    expect(await probe('https://127.0.0.1:1')).toMatchObject({ stage: 'NOTHING', detail: 'connection refused' })
    expect(await probe('https://')).toMatchObject({ stage: 'NOTHING' })
    expect(await probe('ftp://127.0.0.1')).toMatchObject({ stage: 'NOTHING' })
    expect(await probe('https://no-such-host.invalid')).toMatchObject({ stage: 'NOTHING' })
  })

  it('works on a plain http endpoint, but not with a pin', async () => {
    const server = createTcpServer(socket => socket.once('data', () => socket.end(http('200 OK', INFORMATION))))
    const url = (await listening(server)).replace('https', 'http')
    expect(await probe(url)).toMatchObject({ stage: 'READY', certificate_sha256: null })
    expect(await probe(url, IDENTITY.sha256)).toMatchObject({ stage: 'TCP', version: null })
  })
})

describe('a probe of a server that hangs', () => {
  const begin = (url: string) => {
    const clock = manualClock()
    const client = cmlSystemClient({ clock })
    const abort = new AbortController()
    return { clock, client, abort, seen: client.probe({ url, certificate_sha256: null }, abort.signal) }
  }

  it('ends after three seconds at any stage', async () => {
    const server = createTcpServer()
    const url = await listening(server)
    const { clock, seen } = begin(url)
    const [socket] = await once(server, 'connection')
    await once(socket, 'data')
    await clock.advance(3000)
    expect(await seen).toMatchObject({ stage: 'TCP', detail: 'no answer within 3000 ms' })
    await once(socket, 'close')
  })

  it('ends when its signal aborts', async () => {
    const server = createHttpsServer({ cert: IDENTITY.certificate_pem, key: IDENTITY.key_pem })
    const { abort, seen } = begin(await listening(server))
    await once(server, 'request')
    abort.abort()
    expect(await seen).toMatchObject({ stage: 'TLS', detail: 'it was canceled' })
  })

  it('ends when the client is closed', async () => {
    const server = createHttpsServer({ cert: IDENTITY.certificate_pem, key: IDENTITY.key_pem })
    const { client, seen } = begin(await listening(server))
    await once(server, 'request')
    await client.close()
    expect(await seen).toMatchObject({ stage: 'TLS', detail: 'it was canceled' })
  })
})

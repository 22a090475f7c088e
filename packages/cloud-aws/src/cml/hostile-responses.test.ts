import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlLabsClient } from './cml-labs.ts'
import { cmlSystemClient } from './cml-system.ts'
import { atEnd, closeAll, IDENTITY, PASSWORD, refused, type StubAnswer, stubCml } from './testing/stub-cml.ts'

afterEach(closeAll)

const never = () => new AbortController().signal

function clients(clock = systemClock) {
  const system = cmlSystemClient({ clock })
  const labs = cmlLabsClient({ clock })
  atEnd(async () => {
    await Promise.all([system.close(), labs.close()])
  })
  return { system, labs }
}

/** Every call that reads, so that each reader gets every response. */
function calls({ system, labs }: ReturnType<typeof clients>, login: CmlLogin): readonly Promise<unknown>[] {
  return [
    system.stats(login, never()),
    system.health(login, never()),
    system.nodeDefinitions(login, never()),
    system.licensing(login, never()),
    system.activity(login, never()),
    labs.list(login, never()),
    labs.get(login, 'lab', never()),
    labs.import(login, { title: 't', topology: 'x' }, never()),
    labs.isConverged(login, 'lab', never()),
    labs.nodes(login, 'lab', never()),
    labs.download(login, 'lab', never()),
    labs.nodeQuota(login, never()),
  ]
}

const http = (head: string, body: string | Uint8Array) =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`),
    Buffer.from(body),
  ])
const JSON_TYPE = 'content-type: application/json\r\n'

const HOSTILE: ReadonlyArray<readonly [string, StubAnswer]> = [
  ['an empty 200', { status: 200, text: '' }],
  ['a web page', { status: 200, text: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } }],
  ['half of an answer', { bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"registration":' }],
  ['a broken chunk', { bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}' }],
  ['a hang-up', { bytes: '' }],
  ['another protocol', { bytes: 'SSH-2.0-OpenSSH_9.6\r\n' }],
  ['two lengths', { bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x' }],
  ['a long header', { bytes: `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(200_000)}\r\n\r\n` }],
  ['many headers', { bytes: `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(50_000)}\r\n` }],
  ['a body beyond all bounds', { bytes: http(JSON_TYPE, '['.padEnd(21 * 1024 * 1024)) }],
  ['an encoding that was not asked for', { bytes: http(`${JSON_TYPE}content-encoding: gzip\r\n`, gzipSync('{}')) }],
  ['bytes that are not UTF-8', { bytes: http(JSON_TYPE, Uint8Array.of(0x22, 0xff, 0xfe, 0x22)) }],
  ['NUL bytes', { bytes: http(JSON_TYPE, '\0\0\0\0') }],
  ['a redirect', { status: 302, text: '', headers: { location: 'https://127.0.0.1:1/api/v0/steal' } }],
  ['a status that does not exist', { bytes: 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n' }],
  ['a bad gateway', { status: 502, text: '<html>502 Bad Gateway</html>' }],
  ['a crash', refused(500, 'Internal error at /api/v0/labs. Please report this to support.')],
  ['an error without words', { status: 500, json: { detail: [{}] } }],
  ['a number', { status: 200, json: 7 }],
  ['a null', { status: 200, json: null }],
]

describe('an invalid response', () => {
  it.each(HOSTILE)('fails as transient: %s', async (_name, answer) => {
    const stub = await stubCml(({ path }) => (path === '/auth_extended' ? undefined : answer))
    for (const end of await Promise.allSettled(calls(clients(), stub.login))) {
      expect(end).toMatchObject({ status: 'rejected', reason: { name: 'CloudError', errorClass: 'transient' } })
    }
  })

  it.each(HOSTILE)('fails a login: %s', async (_name, answer) => {
    const stub = await stubCml(() => answer)
    const { system } = clients()
    const end = system.stats(stub.login, never())
    await expect(end).rejects.toMatchObject({ name: 'CloudError', errorClass: 'transient' })
  })

  it.each([
    ['deep', `${'['.repeat(400_000)}${']'.repeat(400_000)}`],
    ['deep in a member', `{"computes":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
    [
      'full of prototypes',
      '{"__proto__":{"state":"STARTED","computes":{"__proto__":{}}},"constructor":{"prototype":{"x":1}}}',
    ],
  ])('is ignored when it is %s', async (_name, text) => {
    const answer = { status: 200, text, headers: { 'content-type': 'application/json' } }
    const stub = await stubCml(({ path }) => (path === '/auth_extended' ? undefined : answer))
    const ends = await Promise.allSettled(calls(clients(), stub.login))
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(CloudError)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
    expect(({} as Record<string, unknown>).state).toBeUndefined()
  })
})

/** A server that writes endlessly after a request, as slowly as it is read. */
async function endlessServer(head: string, piece: string): Promise<{ login: CmlLogin; flowing: Promise<Socket> }> {
  const server = createServer({ cert: IDENTITY.certificate_pem, key: IDENTITY.key_pem })
  const flowing = new Promise<Socket>(resolve => {
    server.on('secureConnection', socket => {
      socket.on('error', () => socket.destroy())
      socket.once('data', () => {
        socket.write(head)
        socket.write(piece)
        resolve(socket)
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { login: { url, certificate_sha256: IDENTITY.sha256, username: 'admin', password: PASSWORD }, flowing }
}

describe('a response that never ends', () => {
  it.each([
    ['headers', 'HTTP/1.1 200 OK\r\n', 'x-more: and more\r\n'],
    ['early hints', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['a body', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '2\r\n[]\r\n'],
    ['silence', '', ''],
  ])('ends at the deadline: %s', async (_name, head, piece) => {
    const { login, flowing } = await endlessServer(head, piece)
    const clock = manualClock()
    const { system } = clients(clock)
    const end = system.stats(login, never()).catch((error: unknown) => error)
    const socket = await flowing
    const closed = once(socket, 'close')
    await clock.advance(15_000)
    expect(await end).toMatchObject({ errorClass: 'transient', code: 'TimeoutError' })
    await closed
    expect(clock.timersLeft()).toBe(0)
  })
})

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startServer } from './server.ts'

let plane: ReturnType<typeof aControlPlane>
let server: Awaited<ReturnType<typeof startServer>>
const sockets: Socket[] = []

beforeEach(async () => {
  plane = aControlPlane()
  server = await startServer({
    dispatch: plane.dispatch,
    clock: systemClock,
    host: 'localhost',
    port: 0,
    hostnames: ['localhost'],
    consoleDir: null,
  })
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server.close()
})

async function dial(): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  // A client that is disconnected while it sends gets a reset.
  socket.on('error', () => undefined)
  sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

/** Sends raw bytes and returns the response until the server closes or nothing more follows. */
async function exchange(...parts: readonly (string | Buffer)[]): Promise<string> {
  const socket = await dial()
  let heard = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  for (const part of parts) socket.write(part)
  socket.end()
  await once(socket, 'close')
  return heard
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)
const head = (method: string, path: string, more: readonly string[] = []) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Authorization: Bearer admin',
    'Connection: close',
    ...more,
    '',
    '',
  ].join('\r\n')
const json = (body: Buffer | string) =>
  head('POST', '/api/v1/workers', ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`])

const isWell = async () => expect((await fetch(`${server.url}/health`)).status).toBe(200)

describe('a hostile client', () => {
  it('gets 413 for a body of 100 MB before it is read', async () => {
    const socket = await dial()
    const before = process.memoryUsage().rss
    socket.write(head('POST', '/api/v1/workers', ['Content-Type: application/json', 'Transfer-Encoding: chunked']))
    const chunk = Buffer.alloc(64 * 1024, 32)
    const framed = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
    const [first] = await Promise.all([once(socket, 'data'), pour(socket, framed, 1_600)])
    expect(statusOf(String(first))).toBe(413)
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * 1024 * 1024)
    await isWell()
  })

  it('gets 413 for a length of 10 MB before it sends any of it', async () => {
    const socket = await dial()
    socket.write(head('POST', '/api/v1/workers', ['Content-Type: application/json', 'Content-Length: 10000000']))
    const [first] = await once(socket, 'data')
    expect(statusOf(String(first))).toBe(413)
  })

  it('delays no other client with 200 unfinished requests', async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, dial))
    for (const [n, socket] of slow.entries()) socket.write(n % 2 === 0 ? 'GET /heal' : json('x'.repeat(1_000)))
    await isWell()
    expect((await plane.send('GET', 'workers')).status).toBe(200)
  })

  it.each([
    ['one header of 100 KB', [`X-Long: ${'x'.repeat(100_000)}`]],
    ['ten thousand headers', Array.from({ length: 10_000 }, (_, n) => `X-${n}: ${n}`)],
  ])('is refused %s', async (_name, headers) => {
    expect(statusOf(await exchange(head('GET', '/api/v1/workers', headers)))).toBe(431)
    await isWell()
  })

  it.each([
    ['two content lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a content length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['a folded header', ['X-A: b', ' c']],
    ['a space in a header name', ['Content-Length : 5']],
  ])('cannot smuggle a request behind one with %s', async (_name, headers) => {
    const hidden = `0\r\n\r\n${head('POST', '/api/v1/workers')}`
    const answer = await exchange(head('POST', '/api/v1/workers', headers) + hidden)
    expect(statusOf(answer)).toBe(400)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    await isWell()
  })

  it.each([
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a lone surrogate', '{"template_name": "metal", "name": "\\ud800"}'],
    ['NUL', '{"template_name": "metal", "name": "a\\u0000b"}'],
    ['60,000 brackets', '['.repeat(60_000)],
    ['a deeply nested value', `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`],
    ['__proto__', '{"template_name": "metal", "__proto__": {"role": "admin"}}'],
    ['a number of 10,000 digits', `{"template_name": ${'9'.repeat(10_000)}}`],
  ])('gets a 400 when its body holds %s', async (_name, body) => {
    const answer = await exchange(json(body), body)
    expect(statusOf(answer)).toBe(400)
    expect(answer.length).toBeLessThan(5_000)
    await isWell()
  })

  it.each([
    ['a cursor of 8,000 characters', `/api/v1/workers?cursor=${'A'.repeat(8_000)}`],
    ['a limit of 400 digits', `/api/v1/workers?limit=${'9'.repeat(400)}`],
    ['an invalid percent encoding', '/api/v1/workers/%E0%A4%A'],
    ['a path traversal', '/api/v1/../../../../etc/passwd'],
    ['a query of 1,000 parameters', `/api/v1/workers?${Array.from({ length: 1_000 }, (_, n) => `a${n}=1`).join('&')}`],
  ])('gets a 4xx for %s', async (_name, path) => {
    const status = statusOf(await exchange(head('GET', path)))
    expect([400, 404, 414, 431]).toContain(status)
    await isWell()
  })

  it('gets a 400 for non-HTTP bytes', async () => {
    for (const rubbish of [
      '\x16\x03\x01\x02\x00\x01\x00\x01',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\r\n\r\n\r\n',
      'GET\r\n\r\n',
    ])
      expect([0, 400]).toContain(statusOf(await exchange(rubbish)))
    await isWell()
  })
})

/** Writes until everything is sent or the server stops reading. */
async function pour(socket: Socket, chunk: Buffer, times: number): Promise<void> {
  for (let n = 0; n < times && !socket.destroyed; n += 1) {
    if (socket.write(chunk)) continue
    await new Promise<void>(resolve => socket.once('drain', resolve).once('close', () => resolve()))
  }
}

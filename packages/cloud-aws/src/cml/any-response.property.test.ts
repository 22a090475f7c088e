import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import { systemClock } from '@lcm/runtime/clock'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { cmlLabsClient } from './cml-labs.ts'
import { cmlSystemClient } from './cml-system.ts'
import { labIn, nodeIn } from './lab-readers.ts'
import { eventIn, healthIn, licensingIn, statsIn } from './system-readers.ts'
import { atEnd, closeAll, PASSWORD } from './testing/stub-cml.ts'

afterEach(closeAll)

/** Member names that the readers use, so that generated responses are similar to real ones. */
const NAMES = [
  ...['computes', 'stats', 'all', 'cpu', 'count', 'percent', 'memory', 'disk', 'used', 'total', 'dominfo', 'valid'],
  ...[
    'registration',
    'status',
    'authorization',
    'register_time',
    'failure',
    'success',
    'udi',
    'product_uuid',
    'hostname',
  ],
  ...['product_license', 'active', 'features', 'id', 'state', 'tags', 'lab_title', 'node_count', 'created', 'owner'],
  ...['category', 'timestamp', 'data', 'user_id', 'opt_in', 'token', 'quota', 'started', 'warnings', 'description'],
  ...['__proto__', 'constructor', 'toString', 'length'],
]
const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 1e308, 'OK', 'STARTED', '2026-01-02 03:04:05', 'NOT_REGISTERED', ''),
    fc.string(),
    fc.double(),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom(...NAMES), tie('json')), { maxLength: 6 }).map(Object.fromEntries),
  ),
}))

it('no JSON makes a reader throw, or return an invalid value', () => {
  fc.assert(
    fc.property(json, answer => {
      const value: unknown = JSON.parse(JSON.stringify(answer))
      const stats = statsIn(value)
      for (const share of [stats.cpu_utilization, stats.memory_utilization, stats.disk_utilization]) {
        if (share !== null) expect(share >= 0 && share <= 1).toBe(true)
      }
      for (const read of [healthIn(value), licensingIn(value), labIn(value, 'lab'), nodeIn(value)]) {
        expect(typeof read).toBe('object')
      }
      const event = eventIn(value)
      if (event) expect(event.at).toBe(new Date(event.at).toISOString())
    }),
    { numRuns: 2_000 },
  )
})

const TOKEN = '{"token":"t","id":"u"}'
const LOGGED_IN = `HTTP/1.1 200 OK\r\ncontent-length: ${TOKEN.length}\r\nconnection: close\r\n\r\n${TOKEN}`

interface Written {
  readonly bytes: Uint8Array
  /** Whether logins succeed; otherwise they get the same bytes. */
  readonly letsIn: boolean
}

/** A server that writes the given bytes after every request, and then closes the connection. */
async function writingServer() {
  let written: Written = { bytes: new Uint8Array(), letsIn: false }
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', request => {
      const isLogin = request.toString().startsWith('POST /api/v0/auth_extended')
      socket.end(written.letsIn && isLogin ? LOGGED_IN : written.bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.close()
    await once(server, 'close')
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const login: CmlLogin = { url, certificate_sha256: null, username: 'admin', password: PASSWORD }
  const write = (next: Written) => {
    written = next
  }
  return { login, write }
}

const status = fc.constantFrom(200, 200, 200, 202, 204, 301, 400, 401, 403, 404, 409, 413, 500, 502, 999)
const headers = fc.constantFrom(
  '',
  'content-type: text/html\r\n',
  'transfer-encoding: chunked\r\n',
  'content-length: 5\r\n',
  'content-encoding: br\r\n',
  'connection: keep-alive\r\nkeep-alive: timeout=0\r\n',
  'retry-after: -1\r\n',
  'upgrade: x\r\n',
)
const body = fc.oneof(
  json.map(value => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 200 }),
)
const answerBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(status, headers, body)
    .map(([code, head, content]) => Buffer.concat([Buffer.from(`HTTP/1.1 ${code} X\r\n${head}\r\n`), content])),
)

it('no bytes from a server make a call hang, or fail with anything but a CloudError', { timeout: 60_000 }, async () => {
  const { login, write } = await writingServer()
  const never = new AbortController().signal
  const property = fc.asyncProperty(answerBytes, fc.boolean(), async (bytes, letsIn) => {
    write({ bytes, letsIn })
    // New clients each time: an earlier session or pause would hide the effect of this response.
    const system = cmlSystemClient({ clock: systemClock, verify: 'off' })
    const labs = cmlLabsClient({ clock: systemClock, verify: 'off' })
    const ends = await Promise.allSettled([
      system.stats(login, never),
      system.licensing(login, never),
      system.activity(login, never),
      labs.list(login, never),
      labs.nodes(login, 'lab', never),
      labs.delete(login, 'lab', never),
    ])
    const { stage } = await system.probe(login, never)
    expect(typeof stage).toBe('string')
    await Promise.all([system.close(), labs.close()])
    for (const end of ends) {
      if (end.status === 'fulfilled') continue
      expect(end.reason).toBeInstanceOf(CloudError)
      expect(end.reason.code).not.toBe('TimeoutError')
    }
  })
  await fc.assert(property, { numRuns: 400 })
})

import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { type ServerOptions, startServer } from './server.ts'

const ADDRESSES = ['127.0.0.1', '::1'] as const
/** More than all buffers hold. */
const LONG = 64 * 1024 * 1024

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function serve(options: Partial<ServerOptions> & Pick<ServerOptions, 'dispatch'>): Promise<number> {
  const hostnames = ['localhost']
  const server = await startServer({
    ...{ clock: systemClock, host: 'localhost', port: 0, hostnames, consoleDir: null },
    ...options,
  })
  closing.push(() => server.close(AbortSignal.abort()))
  return Number(new URL(server.url).port)
}

/** Null where the machine has no such address. */
async function dial(port: number, address: string = ADDRESSES[0]): Promise<Socket | null> {
  const socket = connect(port, address)
  closing.push(() => socket.destroy())
  const isThere = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  // A client that is disconnected while it sends gets a reset.
  socket.on('error', () => undefined)
  return isThere ? socket : null
}

const head = (line: string, ...more: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', 'Authorization: Bearer admin', ...more, '', ''].join('\r\n')

describe.each(ADDRESSES)('a client at %s that never ends its request', address => {
  it.each([
    ['sends nothing', ''],
    ['stops in the first line', 'GET /api/v1/wor'],
    ['stops in its headers', head('GET /api/v1/workers').slice(0, -2)],
    ['stops in its body', `${head('POST /api/v1/workers', 'Content-Type: application/json', 'Content-Length: 9')}{"a"`],
    [
      'stops between two chunks',
      `${head('POST /api/v1/workers', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}3\r\n{"a\r\n`,
    ],
    ['stops in its second request', `${head('GET /health')}${head('GET /health').slice(0, -2)}`],
  ])('is disconnected: it %s', async (_name, bytes) => {
    const port = await serve({ dispatch: aControlPlane().dispatch, requestMsMax: 60 })
    const socket = await dial(port, address)
    if (socket === null) return
    socket.resume().write(bytes)
    await once(socket, 'close')
  })
})

it('keeps the event stream of a client that has ended its request', async () => {
  const plane = aControlPlane()
  const port = await serve({ dispatch: plane.dispatch, requestMsMax: 1_000 })
  const listener = await dial(port)
  let heard = ''
  listener?.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  listener?.write(head('GET /api/v1/events'))
  await expect.poll(() => heard).toContain('heartbeat')
  const stalled = await dial(port)
  stalled?.resume().write('GET /heal')
  if (stalled) await once(stalled, 'close')
  await plane.create({ name: 'later' })
  await expect.poll(() => heard).toContain('worker.created')
})

describe('a client that reads nothing', () => {
  /** Sends a request, reads nothing, and reads again after the limit. */
  async function stall(port: number, clock: ManualClock, path: string, limitMs: number): Promise<number> {
    const socket = await dial(port)
    if (socket === null) return 0
    let bytes = 0
    socket.pause().write(head(`GET ${path}`))
    await expect.poll(clock.timersLeft).toBe(1)
    await clock.advance(limitMs - 1)
    expect(clock.timersLeft()).toBe(1)
    await clock.advance(1)
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    await once(socket.resume(), 'close')
    return bytes
  }
  const answering = (response: Partial<ApiResponse>) => async () => ({
    status: 200,
    headers: {},
    body: null,
    ...response,
  })

  it('of an endless stream is disconnected, and its producer ends', async () => {
    const clock = manualClock()
    let hasEnded = false
    async function* body() {
      try {
        for (;;) yield `data: ${'x'.repeat(100_000)}\n\n`
      } finally {
        hasEnded = true
      }
    }
    const port = await serve({ dispatch: answering({ body: body() }), clock })
    expect(await stall(port, clock, '/api/v1/events', 30_000)).toBeLessThan(LONG)
    expect(hasEnded).toBe(true)
  })

  it('of a long response is disconnected, and its memory released', async () => {
    const clock = manualClock()
    let isBack = false
    const bytes = {
      data: Buffer.alloc(LONG),
      done: () => {
        isBack = true
      },
    }
    const port = await serve({ dispatch: answering({ bytes }), clock })
    expect(await stall(port, clock, '/api/v1/workers', 120_000)).toBeLessThan(LONG)
    expect(isBack).toBe(true)
  })

  it('of a long file of the console is disconnected', async () => {
    const consoleDir = mkdtempSync(join(tmpdir(), 'lcm-console-'))
    closing.push(() => rmSync(consoleDir, { recursive: true }))
    writeFileSync(join(consoleDir, 'long.js'), '')
    truncateSync(join(consoleDir, 'long.js'), LONG)
    const clock = manualClock()
    const port = await serve({ dispatch: answering({}), clock, consoleDir })
    expect(await stall(port, clock, '/long.js', 120_000)).toBeLessThan(LONG)
  })
})

it('starts no timer for a client that disconnected before its response', async () => {
  const clock = manualClock()
  let answered = (): void => undefined
  const isAnswered = new Promise<void>(resolve => {
    answered = resolve
  })
  const dispatch = async ({ url, signal }: ApiRequest): Promise<ApiResponse> => {
    if (url !== '/health') await once(signal, 'abort').then(answered)
    return { status: 200, headers: {}, body: 'late' }
  }
  const port = await serve({ dispatch, clock })
  const socket = await dial(port)
  socket?.write(head('GET /api/v1/workers'), () => socket.destroy())
  await isAnswered
  await (await fetch(`http://localhost:${port}/health`)).text()
  await expect.poll(clock.timersLeft).toBe(0)
})

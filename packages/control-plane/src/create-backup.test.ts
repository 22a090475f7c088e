import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { apiClient, UnreachableError } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Role } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { startServer } from './http/server.ts'

async function* given(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}
async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of chunks) text += Buffer.from(chunk).toString()
  return text
}
const backupOf = (file: () => AsyncIterable<Uint8Array>) => async () => file()

describe('a backup', () => {
  it('is for administrators, and leaves an audit entry', async () => {
    const plane = aControlPlane({ backup: backupOf(() => given('all')) })
    expect(await plane.send('POST', 'backup', { as: 'operator' })).toMatchObject({ status: 403 })
    const { status, headers, file } = await plane.send('POST', 'backup')
    expect([status, headers]).toEqual([
      200,
      {
        'content-type': 'application/vnd.sqlite3',
        'content-disposition': 'attachment; filename="lcm.backup"',
      },
    ])
    expect(await textOf(file ?? given())).toBe('all')
    const { json } = await plane.send('GET', 'audit')
    expect(json.items).toMatchObject([{ action: 'backup', resource: 'store:backup', actor: { name: 'admin' } }])
  })

  it('is refused where the store has its own tools', async () => {
    const plane = aControlPlane()
    expect(await plane.send('POST', 'backup')).toMatchObject({ status: 501, json: { code: 'backup_unavailable' } })
    expect((await plane.send('GET', 'audit')).json.items).toEqual([])
  })

  it('may take longer than any other response', async () => {
    let finish = (): void => undefined
    const made = new Promise<void>(resolve => {
      finish = resolve
    })
    const plane = aControlPlane({
      backup: async () => {
        await made
        return given('late')
      },
    })
    const answer = plane.send('POST', 'backup')
    await plane.clock.advance(120_000)
    finish()
    expect((await answer).status).toBe(200)
  })
})

describe('over HTTP', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  async function serve(file: () => AsyncIterable<Uint8Array>, more: { clock?: ManualClock } = {}) {
    const plane = aControlPlane({ backup: backupOf(file) })
    const server = await startServer({
      dispatch: plane.dispatch,
      clock: systemClock,
      host: 'localhost',
      port: 0,
      hostnames: ['localhost', '127.0.0.1'],
      consoleDir: null,
      ...more,
    })
    closing.push(server.close)
    const client = apiClient(httpTransport({ baseUrl: server.url, clock: systemClock }), { token: 'admin' })
    return { ...server, client, plane }
  }

  it('arrives unchanged', async () => {
    const { client, url } = await serve(() => given('one ', 'and ', 'all'))
    expect(await textOf(await client.download('createBackup', {}))).toBe('one and all')
    const response = await fetch(`${url}/api/v1/backup`, { method: 'POST', headers: { authorization: 'Bearer admin' } })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/vnd.sqlite3',
      'content-disposition': 'attachment; filename="lcm.backup"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    await response.text()
  })

  it('works while the limit of event streams is reached', async () => {
    const { client, url, plane } = await serve(() => given('all'))
    const leave = new AbortController()
    const follow = (as: Role) => plane.send('GET', 'events', { as, signal: leave.signal })
    for (let n = 0; n < 500; n += 1) {
      await plane.clock.advance(1_000)
      expect((await follow(n % 2 === 0 ? 'user' : 'operator')).status).toBe(200)
    }
    const refused = await fetch(`${url}/api/v1/events`, { headers: { authorization: 'Bearer author' } })
    expect(await refused.json()).toMatchObject({ code: 'too_many_clients' })
    expect(await textOf(await client.download('createBackup', {}))).toBe('all')
    leave.abort()
  })

  it('distinguishes a refusal from a file', async () => {
    const { url } = await serve(() => given())
    const stranger = apiClient(httpTransport({ baseUrl: url, clock: systemClock }))
    await expect(stranger.download('createBackup', {})).rejects.toMatchObject({ problem: { status: 401 } })
  })

  it('aborts the connection when reading fails', async () => {
    let fail = (): void => undefined
    const failure = new Promise<never>((_, reject) => {
      fail = () => reject(new Error('the disk is gone'))
    })
    async function* broken() {
      yield Buffer.from('one ')
      yield await failure
    }
    const { client } = await serve(broken)
    const chunks = await client.download('createBackup', {})
    fail()
    await expect(textOf(chunks)).rejects.toBeInstanceOf(UnreachableError)
  })

  it('aborts the connection when the server closes', async () => {
    const clock = manualClock()
    const { client, close } = await serve(endless().chunks, { clock })
    const reading = (await client.download('createBackup', {}))[Symbol.asyncIterator]()
    await reading.next()
    const rest = (async () => {
      while (!(await reading.next()).done);
    })()
    const closing = close()
    await clock.advance(10_000)
    await expect(rest).rejects.toBeInstanceOf(UnreachableError)
    await closing
  })

  it('waits for a slow reader without buffering, and disconnects one that reads nothing', async () => {
    const clock = manualClock()
    const { chunks, made, ended } = endless()
    const { url } = await serve(chunks, { clock })
    const asking = request(`${url}/api/v1/backup`, { method: 'POST', headers: { authorization: 'Bearer admin' } }).end()
    const response = await new Promise<IncomingMessage>(resolve => asking.on('response', resolve))
    response.pause()
    const cut = once(response, 'error')
    await expect.poll(clock.timersLeft).toBe(1)
    expect(made()).toBeLessThan(64 * 1024 * 1024)
    await clock.advance(30_000)
    await ended
    response.resume()
    expect(await cut).toMatchObject([{ code: 'ECONNRESET' }])
  })
})

/** More than all buffers hold. */
function endless() {
  const chunk = Buffer.alloc(256 * 1024)
  let bytes = 0
  let end = (): void => undefined
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        bytes += chunk.length
        yield chunk
      }
    } finally {
      end()
    }
  }
  return { chunks, ended, made: () => bytes }
}

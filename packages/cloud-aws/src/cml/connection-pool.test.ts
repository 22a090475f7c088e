import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlConnectionPool } from './connection-pool.ts'
import type { HttpRequest } from './http-client.ts'
import { atEnd, closeAll, IDENTITY, type StubCml, stubCml } from './testing/stub-cml.ts'
import type { Trust } from './tls-connection.ts'

afterEach(closeAll)

const PIN: Trust = { verify: 'pin', ca: null }
const never = () => new AbortController().signal

function opened(options: { trust?: Trust; openMax?: number } = {}) {
  const clock = manualClock()
  const connections = cmlConnectionPool({ clock, trust: PIN, ...options })
  atEnd(() => connections.close())
  return { clock, connections }
}

const request = (path: string): HttpRequest => ({ method: 'GET', path, headers: {}, body: null, bytesMax: 1000 })
const answering = (body = 'ok') => stubCml(() => ({ status: 200, text: body }))
const hanging = () => stubCml(({ path }) => (path === '/hang' ? 'hang' : { status: 200, text: 'ok' }))
const pathsAsked = (stub: StubCml) => stub.requests.map(({ path }) => path)

describe('connections to CML servers', () => {
  it('are reused, and closed when they are idle for a while', async () => {
    const stub = await answering()
    const { clock, connections } = opened()
    for (const path of ['/a', '/b', '/c']) await connections.send(stub.login, request(path), never())
    expect(stub.connectionCount()).toBe(1)
    await clock.advance(3_999)
    expect(connections.openCount()).toBe(1)
    await clock.advance(1)
    expect(connections.openCount()).toBe(0)
    await stub.until(() => stub.openSockets() === 0)
    expect(clock.timersLeft()).toBe(0)
    await connections.send(stub.login, request('/d'), never())
    expect(stub.connectionCount()).toBe(2)
  })

  it('are opened again when the server has closed them', async () => {
    const stub = await answering()
    const { connections } = opened()
    await connections.send(stub.login, request('/a'), never())
    stub.hangUp()
    await stub.until(() => stub.openSockets() === 0)
    const { text } = await connections.send(stub.login, request('/b'), never())
    expect(text).toBe('ok')
  })

  it('are at most eight to one server, and waiting callers can abort', async () => {
    const stub = await hanging()
    const { connections } = opened()
    const abort = new AbortController()
    const calls = Array.from({ length: 20 }, () => connections.send(stub.login, request('/hang'), abort.signal))
    const ends = Promise.allSettled(calls)
    await stub.until(() => stub.requests.length === 8)
    const caller = new AbortController()
    const waiting = connections.send(stub.login, request('/later'), caller.signal)
    caller.abort(new Error('aborted'))
    await expect(waiting).rejects.toThrow('aborted')
    expect(connections.openCount()).toBe(8)
    abort.abort(new Error('enough'))
    expect((await ends).every(end => end.status === 'rejected')).toBe(true)
    expect((await connections.send(stub.login, request('/fine'), never())).text).toBe('ok')
    expect(pathsAsked(stub)).not.toContain('/later')
  })

  it('are limited over all servers: idle ones are closed for new ones, and callers wait for busy ones', async () => {
    const stubs = await Promise.all([hanging(), hanging(), hanging()])
    const { connections } = opened({ openMax: 2 })
    for (const { login } of stubs) await connections.send(login, request('/a'), never())
    expect(connections.openCount()).toBe(2)
    const abort = new AbortController()
    const busy = stubs.slice(0, 2).map(({ login }) => connections.send(login, request('/hang'), abort.signal))
    const ends = Promise.allSettled(busy)
    await Promise.all(stubs.slice(0, 2).map(stub => stub.until(() => pathsAsked(stub).includes('/hang'))))
    const third = connections.send(stubs[2].login, request('/b'), never())
    abort.abort()
    await ends
    expect((await third).text).toBe('ok')
    expect(connections.openCount()).toBeLessThanOrEqual(2)
  })

  it('do not serve a caller with a pin if they were opened without it', async () => {
    const stub = await answering()
    const { connections } = opened()
    await connections.send({ url: stub.login.url, certificate_sha256: null }, request('/a'), never())
    const pinned = { url: stub.login.url, certificate_sha256: 'f'.repeat(64) }
    await expect(connections.send(pinned, request('/b'), never())).rejects.toThrow('not the pinned')
    expect(pathsAsked(stub)).toEqual(['/a'])
  })

  it('are all closed at the end', async () => {
    const stub = await hanging()
    const { clock, connections } = opened()
    await connections.send(stub.login, request('/a'), never())
    const busy = connections.send(stub.login, request('/hang'), never())
    const end = expect(busy).rejects.toThrow()
    await stub.until(() => pathsAsked(stub).includes('/hang'))
    await connections.close()
    await end
    await stub.until(() => stub.openSockets() === 0)
    expect([connections.openCount(), clock.timersLeft()]).toEqual([0, 0])
  })
})

describe('the certificate of a server', () => {
  const named = (stub: StubCml) => ({ url: stub.login.url.replace('127.0.0.1', 'localhost'), certificate_sha256: null })

  it('must chain to an authority when that is configured', async () => {
    const stub = await answering()
    const { connections } = opened({ trust: { verify: 'ca', ca: null } })
    const call = connections.send(named(stub), request('/a'), never())
    await expect(call).rejects.toMatchObject({ code: 'UntrustedCertificate' })
    expect(stub.requests).toEqual([])
  })

  it('is valid when our own authority has signed it for that host, whatever is pinned', async () => {
    const stub = await answering()
    const { connections } = opened({ trust: { verify: 'ca', ca: IDENTITY.certificate_pem } })
    const renewed = { ...named(stub), certificate_sha256: 'f'.repeat(64) }
    expect((await connections.send(renewed, request('/a'), never())).status).toBe(200)
    const elsewhere = { url: stub.login.url, certificate_sha256: null }
    const call = connections.send(elsewhere, request('/b'), never())
    await expect(call).rejects.toMatchObject({ code: 'UntrustedCertificate' })
    expect(pathsAsked(stub)).toEqual(['/a'])
  })

  it('is checked by authorities that are read once for all connections, since that takes longer than to connect', async () => {
    const stub = await answering()
    let reads = 0
    const trust: Trust = {
      verify: 'ca',
      get ca() {
        reads += 1
        return IDENTITY.certificate_pem
      },
    }
    const { clock, connections } = opened({ trust })
    for (const path of ['/a', '/b']) {
      await connections.send(named(stub), request(path), never())
      await clock.advance(4_000)
    }
    expect([stub.connectionCount(), reads]).toEqual([2, 1])
  })

  it('is ignored only when all checks are off', async () => {
    const stub = await answering()
    const { connections } = opened({ trust: { verify: 'off', ca: null } })
    const wrong = { url: stub.login.url, certificate_sha256: 'f'.repeat(64) }
    expect((await connections.send(wrong, request('/a'), never())).status).toBe(200)
  })
})

import { gzipSync } from 'node:zlib'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlConnectionPool } from './connection-pool.ts'
import { atEnd, closeAll, type StubAnswer, stubCml } from './testing/stub-cml.ts'

afterEach(closeAll)

async function exchanged(answer: StubAnswer, bytesMax = 10) {
  const stub = await stubCml(() => answer)
  const connections = cmlConnectionPool({ clock: manualClock(), trust: { verify: 'pin', ca: null } })
  atEnd(() => connections.close())
  const request = { method: 'GET', path: '/x', headers: {}, body: null, bytesMax } as const
  const answered = await connections.send(stub.login, request, new AbortController().signal)
  return { ...answered, asked: stub.requests[0] }
}

describe('an exchange', () => {
  it('returns status, type and text, and requests no compression', async () => {
    const headers = { 'content-type': 'Text/Plain; charset=utf-8', 'retry-after': '3' }
    const { asked, ...answer } = await exchanged({ status: 418, text: 'häh', headers })
    expect(answer).toEqual({ status: 418, contentType: 'text/plain', retryAfter: '3', text: 'häh' })
    expect(asked?.headers['accept-encoding']).toBe('identity')
  })

  it('accepts a body up to its limit and none beyond', async () => {
    expect((await exchanged({ status: 200, text: 'x'.repeat(10) })).text).toHaveLength(10)
    await expect(exchanged({ status: 200, text: 'x'.repeat(11) })).rejects.toThrow('longer than 10 bytes')
  })

  it('rejects a compressed body, which could be of any size', async () => {
    const body = gzipSync('x').toString('latin1')
    const compressed = { status: 200, text: body, headers: { 'content-encoding': 'gzip' } }
    await expect(exchanged(compressed, 1000)).rejects.toThrow('encoded')
    expect((await exchanged({ status: 200, text: 'x', headers: { 'content-encoding': 'Identity' } })).text).toBe('x')
  })

  it('has no text when the bytes are not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), Uint8Array.of(0x61, 0xff)])
    expect((await exchanged({ bytes })).text).toBeNull()
  })

  it('does not follow a redirect', async () => {
    const redirect = { status: 302, text: '', headers: { location: 'https://127.0.0.1:1/' } }
    expect(await exchanged(redirect)).toMatchObject({ status: 302 })
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { aPlane } from './testing/a-plane.ts'

let plane: ReturnType<typeof aPlane>
beforeEach(() => {
  plane = aPlane()
})

const HOST = 'localhost:8080'

/** As a browser would: without a token, with whatever cookie and origin it has. */
const browse = (method: string, url: string, headers: Record<string, string> = {}) =>
  plane.dispatch({ method, url, headers: { host: HOST, ...headers }, body: null, signal: new AbortController().signal })

async function cookie(): Promise<string> {
  const { json } = await plane.send('POST', 'login-links')
  const answer = await browse('GET', json.url)
  return answer.headers['set-cookie']?.split(';')[0] ?? ''
}

describe('a login link', () => {
  it('becomes a session that scripts can not read and other sites can not use', async () => {
    const { json } = await plane.send('POST', 'login-links')
    const answer = await browse('GET', json.url)
    expect(answer).toMatchObject({ status: 303, headers: { location: '/' } })
    expect(answer.headers['set-cookie']).toMatch(/^lcm_session=\S+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    expect((await browse('GET', '/api/v1/info', { cookie: await cookie() })).status).toBe(200)
  })

  it('works once', async () => {
    const { json } = await plane.send('POST', 'login-links')
    await browse('GET', json.url)
    const again = await browse('GET', json.url)
    expect(again).toMatchObject({ status: 303, headers: { location: '/#/login-failed' } })
    expect(again.headers['set-cookie']).toBeUndefined()
  })

  it('works for ten minutes', async () => {
    const { json } = await plane.send('POST', 'login-links')
    await plane.clock.advance(10 * 60_000 + 1)
    expect((await browse('GET', json.url)).headers['set-cookie']).toBeUndefined()
  })

  it('does not work when it is made up', async () => {
    for (const url of ['/login', '/login?code=', '/login?code=guess']) {
      expect((await browse('GET', url)).headers['set-cookie']).toBeUndefined()
    }
  })
})

describe('a browser session', () => {
  it('ends after twelve hours', async () => {
    const session = await cookie()
    await plane.clock.advance(12 * 60 * 60_000 + 1)
    expect((await browse('GET', '/api/v1/info', { cookie: session })).status).toBe(401)
  })

  it('is refused when it was tampered with', async () => {
    const session = await cookie()
    const [expires = '', signature = ''] = session.replace('lcm_session=', '').split('.')
    for (const forged of [`${Number(expires) + 1}.${signature}`, `${expires}.${'0'.repeat(64)}`, expires, '', 'x.y']) {
      expect((await browse('GET', '/api/v1/info', { cookie: `lcm_session=${forged}` })).status, forged).toBe(401)
    }
  })

  it('changes something only from the console itself', async () => {
    const worker = await plane.create()
    const session = await cookie()
    const stop = (headers: Record<string, string>) =>
      browse('POST', `/api/v1/workers/${worker.id}/stop`, { cookie: session, ...headers })
    for (const origin of ['https://evil.example', 'http://localhost:9999', 'null', '']) {
      expect(await stop({ origin }), origin).toMatchObject({ status: 403 })
    }
    expect(await stop({})).toMatchObject({ status: 403 })
    expect((await stop({ origin: `http://${HOST}` })).status).toBe(202)
  })

  it('gives way to a token, so that a command line is never stopped by a cookie', async () => {
    const answer = await browse('POST', '/api/v1/login-links', {
      cookie: await cookie(),
      authorization: 'Bearer admin',
    })
    expect(answer.status).toBe(201)
  })
})

import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, expect, it } from 'vitest'
import { cmlLabsClient } from './cml-labs.ts'
import { cmlSystemClient } from './cml-system.ts'
import { atEnd, closeAll, PASSWORD, type StubAnswer, stubCml } from './testing/stub-cml.ts'

afterEach(closeAll)

const never = new AbortController().signal
const TOKEN = 'token-of-the-smart-account'
const REGISTRATION = { product: 'CML_Enterprise', token: TOKEN, extra_nodes: null }

function clients() {
  const clock = manualClock()
  const [cml, labs] = [cmlSystemClient({ clock }), cmlLabsClient({ clock })]
  atEnd(async () => {
    await Promise.all([cml.close(), labs.close()])
  })
  return { cml, labs }
}

it.each([301, 302, 303, 307, 308])('a redirect by %s sends no password, session or token elsewhere', async status => {
  const foreign = await stubCml(() => undefined)
  const redirect: StubAnswer = { status, text: '', headers: { location: `${foreign.login.url}/api/v0/auth_extended` } }
  const { cml, labs } = clients()
  const atOnce = await stubCml(() => redirect)
  await expect(cml.register(atOnce.login, REGISTRATION, never)).rejects.toThrow()
  const afterLogin = await stubCml(({ path }) => (path === '/auth_extended' ? undefined : redirect))
  await expect(cml.register(afterLogin.login, REGISTRATION, never)).rejects.toThrow()
  await expect(labs.list(afterLogin.login, never)).rejects.toThrow()
  expect(afterLogin.loginCount(), 'one by each client').toBe(2)
  expect([foreign.connectionCount(), foreign.requests]).toEqual([0, []])
})

it('a server with another certificate than the pinned one gets no request', async () => {
  const server = await stubCml(() => undefined)
  const login = { ...server.login, certificate_sha256: 'ab'.repeat(32) }
  const { cml, labs } = clients()
  await expect(cml.register(login, REGISTRATION, never)).rejects.toThrow('not the pinned')
  await expect(labs.list(login, never)).rejects.toThrow('not the pinned')
  expect(await cml.probe(login, never)).toMatchObject({ stage: 'TLS' })
  expect(server.requests).toEqual([])
  await expect(labs.list(server.login, never)).rejects.toThrow()
  expect(server.requests[0]?.body, 'the right one is logged in to').toContain(PASSWORD)
})

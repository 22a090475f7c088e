import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'

let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  plane = aControlPlane()
})

const withToken = (secret: string, path = 'info') =>
  plane.send('GET', path, { headers: { authorization: `Bearer ${secret}` } })

it('creates a token whose secret is shown once and not stored', async () => {
  const { status, json } = await plane.send('POST', 'tokens', { json: { name: 'ci', role: 'operator' } })
  expect(status).toBe(201)
  expect(json.secret).toMatch(/^lcm_\S{43}$/)
  expect((await withToken(json.secret)).json.actor).toEqual({ id: `token:${json.id}`, name: 'ci', role: 'operator' })
  const list = await plane.send('GET', 'tokens')
  expect(list.json.items).toMatchObject([{ name: 'ci', role: 'operator', service: null }])
  const { secret: _, ...known } = json
  expect(list.json.items).toEqual([known])
})

it('refuses a token that is deleted or expired', async () => {
  const over = { name: 'short', role: 'user', expires_at: '2026-01-01T00:00:10.000Z' }
  const short = (await plane.send('POST', 'tokens', { json: over })).json
  const gone = (await plane.send('POST', 'tokens', { json: { name: 'gone', role: 'user' } })).json
  expect((await withToken(short.secret)).status).toBe(200)
  expect((await plane.send('DELETE', `tokens/${gone.id}`)).status).toBe(204)
  await plane.clock.advance(10_000)
  expect((await withToken(short.secret)).status).toBe(401)
  expect((await withToken(gone.secret)).status).toBe(401)
  expect((await plane.send('DELETE', `tokens/${gone.id}`)).status).toBe(404)
})

it('gives a controller the routes of its own service', async () => {
  const json = { name: 'wc', role: 'controller', service: 'worker-controller' }
  const { secret } = (await plane.send('POST', 'tokens', { json })).json
  const headers = { authorization: `Bearer ${secret}` }
  const term = { headers, json: { epoch: 1, instance_id: 'a' } }
  expect((await plane.send('PUT', 'services/worker-controller/term', term)).status).toBe(200)
  expect((await plane.send('PUT', 'services/resource-scheduler/term', term)).status).toBe(403)
})

it.each([
  [{ name: 'x', role: 'controller' }],
  [{ name: 'x', role: 'admin', service: 'worker-controller' }],
  [{ name: 'x', role: 'king' }],
  [{ name: '', role: 'user' }],
  [{ name: 'x', role: 'user', expires_at: 'tomorrow' }],
  [{ name: 'x', role: 'user', expires_at: '2026-01-01T00:00:00.000Z' }],
  [{ name: 'x', role: 'user', expires_at: '2025-12-31T23:59:59.999Z' }],
  [{ name: 'x\u0000', role: 'user' }],
  [{ name: 'x\u001b[2J', role: 'user' }],
])('refuses %j', async json => {
  expect(await plane.send('POST', 'tokens', { json })).toMatchObject({
    status: 400,
    json: { code: 'validation_failed' },
  })
})

import type { ApiRequest } from '@lcm/contract/route-spec'
import { expect, it } from 'vitest'
import { readinessGate } from './readiness-gate.ts'

const request = (url: string): ApiRequest => ({
  method: 'GET',
  url,
  headers: {},
  body: null,
  signal: new AbortController().signal,
})

it('is alive and not ready, and sends Retry-After until it opens', async () => {
  const api = readinessGate()
  api.waitFor('the store')
  const ask = async (url: string) => {
    const { status, headers, body } = await api.dispatch(request(url))
    return { status, headers, json: JSON.parse(String(body)) }
  }
  expect(await ask('/health')).toMatchObject({
    status: 200,
    json: { problems: [{ code: 'waiting_for', params: { dependency: 'the store' } }] },
  })
  expect(await ask('/ready')).toMatchObject({ status: 503, json: { ready: false, waits_for: 'the store' } })
  expect(await ask('/api/v1/workers?limit=1')).toMatchObject({
    status: 503,
    headers: { 'content-type': 'application/problem+json', 'retry-after': '2' },
    json: { code: 'store_unavailable', detail: 'LCM waits for the store', instance: '/api/v1/workers' },
  })
  api.open(async ({ url }) => ({ status: 200, headers: {}, body: JSON.stringify({ url }) }))
  expect(await ask('/ready')).toMatchObject({ status: 200, json: { url: '/ready' } })
})

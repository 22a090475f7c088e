import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { type Fetch, fetchJson } from './fetch-json.ts'

const clock = manualClock()
const answering = (body: string, init?: ResponseInit) => async () => new Response(body, init)

it('returns status and body', async () => {
  const fetch = answering('{"a":1}', { status: 400 })
  expect(await fetchJson({ fetch, clock }, 'http://x')).toEqual({ status: 400, json: { a: 1 } })
})

it('does not follow redirects', async () => {
  let init: RequestInit = {}
  const fetch: Fetch = async (_, given) => {
    init = given
    return new Response('{}')
  }
  await fetchJson({ fetch, clock }, 'http://x', { method: 'POST' })
  expect(init).toMatchObject({ method: 'POST', redirect: 'error' })
})

it('times out after five seconds', async () => {
  const fetch: Fetch = (_, { signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('too late'))))
  const answer = fetchJson({ fetch, clock }, 'http://x').catch(String)
  await clock.advance(5_000)
  expect(await answer).toBe('Error: too late')
})

it('stops reading at the size limit', async () => {
  const huge = `"${'x'.repeat(256 * 1024)}"`
  await expect(fetchJson({ fetch: answering(huge), clock }, 'http://x')).rejects.toThrow('more than')
  await expect(fetchJson({ fetch: answering('<html>'), clock }, 'http://x')).rejects.toThrow()
})

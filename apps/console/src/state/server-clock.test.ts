import { toInstant } from '@lcm/domain/instant'
import { manualClock } from '@lcm/testkit/manual-clock'
import { signal } from '@preact/signals'
import { expect, it } from 'vitest'
import { serverClock } from './server-clock.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5)

/** A browser whose clock is two hours slow. */
function slowBrowser() {
  const skewMs = signal(0)
  const server = serverClock(manualClock(NOW_MS - 2 * HOUR_MS), skewMs)
  const answer = (headers: Record<string, string>) => {
    const request = { method: 'GET', url: '/', headers: {}, body: null, signal: new AbortController().signal }
    return server.observing(async () => ({ status: 200, headers, body: null }))(request)
  }
  return { skewMs, server, answer }
}

it('follows the server', () => {
  const { server } = slowBrowser()
  server.sync(toInstant(NOW_MS + 250))
  expect(server.now()).toBe(NOW_MS + 250)
})

it('reads the time from the Date header of a response, unless a better source is known', async () => {
  const { skewMs, server, answer } = slowBrowser()
  await answer({})
  expect(skewMs.value).toBe(0)
  await answer({ date: new Date(NOW_MS).toUTCString() })
  expect(server.now()).toBe(NOW_MS)
  server.sync(toInstant(NOW_MS + 900))
  await answer({ date: new Date(NOW_MS).toUTCString() })
  expect(server.now()).toBe(NOW_MS + 900)
})

import { apiClient } from '@lcm/client/client'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { follow, RETRY_MS } from './follow-events.ts'
import { cliApi } from './testing/in-memory-api.ts'
import { aWorker, START_MS } from './testing/resource-builders.ts'

function following(token = 'secret') {
  const api = cliApi()
  const { clock } = api
  const interrupt = new AbortController()
  const notices: string[] = []
  api.put(aWorker())
  const client = apiClient(api.dispatch, { token })
  const done = (async () => {
    for await (const notice of follow({ client, clock, signal: interrupt.signal })) {
      const isVersioned = notice.kind === 'event' && 'version' in notice.event
      notices.push(isVersioned ? `version ${notice.event.version}` : notice.kind)
    }
  })()
  const change = () => api.change('w-0abcdefgh0001', {})
  return { api, clock, interrupt, notices, done, change }
}

it('requests one list, then reports every change', async () => {
  const { api, clock, interrupt, notices, done, change } = following()
  await api.stream(1)
  change()
  change()
  await clock.advance(0)
  interrupt.abort()
  await done
  expect(notices).toEqual(['refresh', 'version 2', 'version 3'])
})

it('resumes from its position after a disconnect, and requests a list meanwhile', async () => {
  const { api, clock, interrupt, notices, done, change } = following()
  await api.stream(1)
  change()
  await clock.advance(0)
  api.crash()
  change()
  await clock.advance(2 * RETRY_MS)
  api.restart()
  await clock.advance(RETRY_MS)
  interrupt.abort()
  await done
  expect(notices.at(-1)).toBe('version 3')
  expect(notices.filter(notice => notice.startsWith('version'))).toEqual(['version 2', 'version 3'])
  expect(notices.filter(notice => notice === 'refresh').length).toBeGreaterThan(2)
})

it('starts over when its position is no longer known', async () => {
  const { api, clock, interrupt, notices, done, change } = following()
  await api.stream(1)
  change()
  api.compact()
  await clock.advance(3 * RETRY_MS)
  change()
  await clock.advance(0)
  interrupt.abort()
  await done
  expect(notices.slice(-3)).toEqual(['event', 'refresh', 'version 3'])
})

it('reconnects when the stream is silent', async () => {
  const { api, clock, interrupt, done } = following()
  await api.stream(1)
  api.plane.mute(true)
  await clock.advance(60_000 + RETRY_MS)
  await api.stream(2)
  interrupt.abort()
  await done
})

it('ends cleanly while the stream is opening', async () => {
  const clock = manualClock(START_MS)
  const interrupt = new AbortController()
  const client = apiClient(async ({ signal }) => {
    interrupt.abort()
    signal.throwIfAborted()
    throw new Error('the signal of the request follows the one that was given')
  })
  const notices: string[] = []
  for await (const { kind } of follow({ client, clock, signal: interrupt.signal, after: '1' })) notices.push(kind)
  expect(notices).toEqual(['refresh'])
})

it('ends when it is refused', async () => {
  await expect(following('wrong').done).rejects.toMatchObject({ problem: { code: 'unauthenticated' } })
})

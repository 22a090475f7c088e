import { openSqliteStore } from '@lcm/store/sqlite-store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { followChanges } from './follow-changes.ts'

it('ends at once when it is stopped while its reader is at work', async () => {
  const clock = manualClock()
  const store = openSqliteStore(':memory:')
  const things = store.collection({ name: 'thing', parse: body => body as { id: string; version: number } })
  const stop = new AbortController()
  const from = await store.changes.position()
  const followed = followChanges(store.changes, from, { clock, idleMs: 60_000, signal: stop.signal })
  const first = followed.next()
  await clock.advance(0)
  await things.insert({ id: 'a', version: 1 })
  expect((await first).value).toMatchObject({ kind: 'change', change: { id: 'a' } })
  stop.abort()
  expect(await followed.next()).toMatchObject({ done: true })
  store.close()
})

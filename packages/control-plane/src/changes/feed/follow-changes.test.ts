import { openSqliteStore } from '@lcm/store/sqlite/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { followChanges } from './follow-changes.ts'

it('ends at once when it is stopped while its reader works', async () => {
  const clock = manualClock()
  const store = openSqliteStore(':memory:')
  const things = store.collection({
    name: 'thing',
    parse: body => body as { id: string; version: number },
    announced: true,
  })
  const stop = new AbortController()
  const { changes } = store
  if (changes === null) throw new Error('it has a feed')
  const from = await changes.position()
  const followed = followChanges(changes, from, { clock, idleMs: 60_000, signal: stop.signal })
  const first = followed.next()
  await clock.advance(0)
  await things.insert({ id: 'a', version: 1 })
  expect((await first).value).toMatchObject({ kind: 'change', change: { id: 'a' } })
  stop.abort()
  expect(await followed.next()).toMatchObject({ done: true })
  await store.close()
})

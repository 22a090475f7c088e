import type { ChangeKeys } from '@lcm/coordination/change-keys'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'

/** Keys that record what is published, with a delay where a clock is given. */
function recorded(keys: ChangeKeys, wait: () => Promise<void> = async () => undefined) {
  const published: string[] = []
  const recording: ChangeKeys = {
    ...keys,
    async publish(key, hint) {
      await wait()
      published.push(key)
      return keys.publish(key, hint)
    },
  }
  return { keys: recording, published }
}

const someKeys = () => localCoordination({ clock: manualClock(), firstEpoch: () => 1 }).changeKeys

/** Runs the background services during `work`. */
async function running(plane: ReturnType<typeof aControlPlane>, work: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const ended = Promise.all(plane.services.map(service => service.run(stop.signal)))
  await work()
  stop.abort()
  await plane.clock.advance(0)
  await ended
}

it('publishes missing and outdated keys at its start, and no others', async () => {
  const store = openSqliteStore(':memory:')
  const { keys, published } = recorded(someKeys())
  const first = aControlPlane({ store, changeKeys: keys })
  const ids: string[] = []
  await running(first, async () => {
    for (let n = 0; n < 100; n += 1) ids.push((await first.create()).id)
    await first.clock.advance(0)
  })
  expect(new Set(published).size).toBeGreaterThanOrEqual(ids.length)

  published.length = 0
  const again = aControlPlane({ store, changeKeys: keys })
  await running(again, () => again.clock.advance(0))
  expect(published).toEqual([])

  const empty = recorded(someKeys())
  const rebuilt = aControlPlane({ store, changeKeys: empty.keys })
  await running(rebuilt, () => rebuilt.clock.advance(0))
  expect(empty.published.filter(key => key.startsWith('/lcm/workers/')).toSorted()).toEqual(
    ids.map(id => `/lcm/workers/${id}`).toSorted(),
  )
})

it('publishes new commits while it restores old keys', async () => {
  const store = openSqliteStore(':memory:')
  const before = aControlPlane({ store, changeKeys: someKeys() })
  await running(before, async () => {
    for (let n = 0; n < 300; n += 1) await before.create()
    await before.clock.advance(0)
  })
  const clock = manualClock()
  const { keys, published } = recorded(someKeys(), () => clock.sleep(10))
  const plane = aControlPlane({ store, changeKeys: keys })
  await running(plane, async () => {
    await plane.clock.advance(0)
    const { id } = await plane.create()
    for (let n = 0; n < 100; n += 1) {
      await clock.advance(10)
      await plane.clock.advance(0)
    }
    const workers = published.filter(key => key.startsWith('/lcm/workers/'))
    expect(workers.length).toBeGreaterThanOrEqual(301)
    expect(workers.indexOf(`/lcm/workers/${id}`)).toBeLessThan(150)
  })
})

import type { ChangeHint } from '@lcm/coordination/change-keys'
import { silentLogger } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { scriptedWatchSource } from '@lcm/testkit/scripted-watch-source'
import { expect, it } from 'vitest'
import { changeReader } from './change-reader.ts'
import { versionFilter } from './version-filter.ts'

function reading(releasedMax: number) {
  const resourceOfKey = (key: string) => (key.startsWith('/w/') ? { kind: 'worker', id: key.slice(3) } : null)
  const parts = { source: scriptedWatchSource<ChangeHint>(), resourceOfKey, clock: manualClock(), log: silentLogger }
  const reader = changeReader(parts, { revision: 0, nth: 0 }, versionFilter(releasedMax))
  let revision = 0
  const put = (key: string, hint: Partial<ChangeHint>) => {
    revision += 1
    return reader.read({ type: 'put', key, hint: { id: '', version: 1, updated_at: '', ...hint }, revision })
  }
  const remove = (key: string) => {
    revision += 1
    return reader.read({ type: 'delete', key, revision })
  }
  return { reader, put, remove }
}

it('reads a put as a change, a tombstone as a removal, and a deletion as nothing', () => {
  const { reader, put, remove } = reading(10)
  const about = { kind: 'worker', id: 'a' }
  expect(put('/w/a', { version: 3 })?.change).toEqual({ ...about, version: 3, deleted: false, position: '1' })
  expect(put('/w/a', { version: 4, deleted: true })?.change).toEqual({
    ...about,
    version: 4,
    deleted: true,
    position: '2',
  })
  expect([remove('/w/a'), put('/elsewhere', {})]).toEqual([null, null])
  expect(reader.at).toEqual({ revision: 4, nth: 1 })
})

it('forgets a deleted key when other keys are deleted', () => {
  const { put, remove } = reading(1)
  for (const key of ['/w/a', '/w/b']) {
    put(key, { version: 2 })
    remove(key)
  }
  expect([put('/w/a', { version: 1 })?.change.version, put('/w/b', { version: 1 })]).toEqual([1, null])
})

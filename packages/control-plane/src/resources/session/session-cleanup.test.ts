import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { expect, it } from 'vitest'
import { aCourse } from '../../testing/bookable-fleet.ts'

/** Runs something between a read of a session and what its reader does next. */
function pausingStore(inner: Store) {
  let pause: { reads: number; run: () => Promise<unknown> } | null = null
  function collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const opened = inner.collection(kind)
    if (kind.name !== 'session') return opened
    return {
      ...opened,
      async get(id) {
        const found = await opened.get(id)
        const now = pause
        if (now !== null) now.reads -= 1
        if (now?.reads === 0) {
          pause = null
          await now.run()
        }
        return found
      },
    }
  }
  const pauseAfterReads = (reads: number, run: () => Promise<unknown>) => {
    pause = { reads, run }
  }
  return { store: { ...inner, collection }, pauseAfterReads }
}

it.each([1, 2])('a slow cleanup spares the lab that its session got meanwhile (read %i)', async reads => {
  const { store, pauseAfterReads } = pausingStore(openSqliteStore(':memory:'))
  const course = aCourse({ store })
  const { id } = await course.placed((await course.serving()).id, 'INSTANTIATING', 'READY')
  await course.reportSession(id, { status: 'PENDING', worker_id: null }, 'resource-scheduler')
  const other = await course.serving()
  let labId = ''
  pauseAfterReads(reads, async () => {
    await course.assign(id, other.id)
    await course.reportSession(id, { status: 'INSTANTIATING' })
    labId = (await course.bind(id)).json.id
  })
  await course.release(id)
  expect(await course.lab(labId)).toMatchObject({ session_id: id, pending_action: null })
  expect(Object.keys((await course.get(other.id)).reservations)).toEqual([id])
})

import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { restoreReason, withRestore } from '@lcm/domain/save/restore'
import { beforeEach, describe, expect, it } from 'vitest'
import { aSavedCourse, type SavedCourse, workOf } from '../../testing/saved-course.ts'
import { makeId } from '../ids.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const NAMES = ['one', 'two', 'three', 'four', 'five']

let course: SavedCourse
let id: string
beforeEach(async () => {
  course = aSavedCourse()
  id = (await course.inSlot()).id
})
const numbers = async () => (await course.listed()).map(({ number }) => number)
const saveAll = async (...names: readonly string[]) => {
  for (const name of names) await course.saved(id, workOf(name))
}

describe('while a session is open', () => {
  it('its last three saves are kept, with their content', async () => {
    await saveAll(...NAMES)
    await course.maintain()
    expect(await numbers()).toEqual([3, 4, 5])
    expect(await course.store.blobs.total()).toMatchObject({ count: 3 })
    for (const { id: save, number } of await course.listed())
      expect(await course.workIn(save)).toBe(workOf(NAMES[number - 1] ?? ''))
  })

  it('as many are kept as the settings say', async () => {
    await course.send('PATCH', 'settings', { json: { saves_kept: 1 } })
    await saveAll('one', 'two')
    await course.maintain()
    expect(await numbers()).toEqual([2])
  })
})

describe('a save that the lab of its session could not start with', () => {
  /** The lab starts afresh on another worker, and its saves don't have the earlier work. */
  async function passedOver(): Promise<string> {
    const { id: lost } = await course.saved(id, workOf('all the work'))
    const refused = new Map([[lost, reason('save_refused', { save: lost, error: 'no key' })]])
    const because = restoreReason(null, refused)
    if (because === null) throw new Error('nothing was refused')
    const session = await course.session(id)
    await course.editDocument('sessions', id, { conditions: withRestore(session, because, session.updated_at) })
    await saveAll(...NAMES)
    await course.maintain()
    return lost
  }

  it('is kept beside the last three', async () => {
    const lost = await passedOver()
    expect(await numbers()).toEqual([1, 4, 5, 6])
    expect(await course.workIn(lost)).toBe(workOf('all the work'))
  })

  it('is kept like the final save', async () => {
    const lost = await passedOver()
    await course.end(id)
    await course.maintain()
    expect(await numbers()).toEqual([1, 6])
    await course.clock.advance(29 * DAY_MS)
    await course.maintain()
    expect(await course.workIn(lost)).toBe(workOf('all the work'))
    await course.clock.advance(2 * DAY_MS)
    await course.maintain()
    expect(await numbers()).toEqual([])
  })
})

describe('after the end of a session', () => {
  it('the final save is kept for 30 days, longer than the record of its session', async () => {
    await course.send('PATCH', 'settings', { json: { journal_retention_days: 7 } })
    await saveAll('one', 'two', 'three')
    await course.end(id)
    const endedAt = (await course.session(id)).entered_status_at
    await course.maintain()
    expect(await course.listed()).toMatchObject([{ number: 3, session_ended_at: endedAt }])

    await course.clock.advance(8 * DAY_MS)
    await course.tend(11 * MINUTE_MS)
    expect((await course.send('GET', `lablet-sessions/${id}`)).status).toBe(404)
    const [save] = await course.listed()
    expect(await course.workIn(save?.id ?? '')).toBe(workOf('three'))

    await course.clock.advance(Date.parse(endedAt) + 30 * DAY_MS - course.clock.now() - 1)
    await course.maintain()
    expect(await numbers()).toEqual([3])
    await course.clock.advance(2)
    await course.maintain()
    expect([await numbers(), await course.store.blobs.ids({ limit: 9 })]).toEqual([[], []])
  })

  it('a longer retention counts for saves that are there', async () => {
    await saveAll('one')
    await course.end(id)
    await course.maintain()
    await course.send('PATCH', 'settings', { json: { save_retention_days: 60 } })
    await course.clock.advance(59 * DAY_MS)
    await course.maintain()
    expect(await numbers()).toEqual([1])
  })

  it('a session whose record is gone counts as ended now', async () => {
    await saveAll('one', 'two')
    await course.remove('sessions', id)
    await course.maintain()
    expect(await course.listed()).toMatchObject([{ number: 2, session_ended_at: toInstant(course.clock.now()) }])
  })
})

it('metrics count the saves and their bytes', async () => {
  await saveAll('one', 'two')
  const text = String((await course.send('GET', '/metrics')).body)
  const { bytes } = await course.store.blobs.total()
  expect(bytes).toBeGreaterThan(100)
  expect(text).toMatch(new RegExp(`^saves 2$[^]*^saves_bytes ${bytes}$`, 'm'))
})

it('a round removes more than the saves that 10,000 sessions make in a minute', async () => {
  await course.send('PATCH', 'settings', { json: { saves_kept: 1 } })
  const [first] = [await course.saved(id, workOf('first'))]
  const stored = (await course.all('saves'))[0]
  if (stored === undefined || first === undefined) throw new Error('no save')
  const copies = Array.from({ length: 1_010 }, (_, n) => ({ ...stored, id: `${stored.id}-${n}`, number: n + 2 }))
  await course.put('saves', ...copies)
  expect(await course.maintain()).toBe(1)
})

describe('content without a record', () => {
  const blobOf = (agoMs: number) => makeId('sv', course.clock.now() - agoMs, new Uint8Array([1, 2, 3, 4, 5]))

  it('goes after an hour', async () => {
    await saveAll('one')
    const [save] = await course.listed()
    const [old, recent] = [blobOf(61 * MINUTE_MS), blobOf(59 * MINUTE_MS)]
    for (const blob of [old, recent]) await course.store.blobs.write(blob, Buffer.from('left'))
    await course.maintain()
    expect(await course.store.blobs.ids({ limit: 9 })).toEqual([recent, save?.id])
    await course.clock.advance(2 * MINUTE_MS)
    await course.maintain()
    expect(await course.store.blobs.ids({ limit: 9 })).toEqual([save?.id])
  })

  it('goes over several rounds when there is much of it', async () => {
    const old = Array.from({ length: 450 }, (_, n) => blobOf(DAY_MS + n * 1_000))
    for (const blob of old) await course.store.blobs.write(blob, Buffer.from('left'))
    const counts: number[] = []
    for (let round = 0; round < 3; round += 1) {
      await course.maintain()
      counts.push((await course.store.blobs.total()).count)
    }
    expect(counts).toEqual([250, 50, 0])
  })
})

describe('people', () => {
  it('who are merged take their saves along', async () => {
    const people = ['ann', 'ben'].map(name => ({ json: { name, role: 'user' } }))
    const [ann, ben] = await Promise.all(people.map(async each => (await course.send('POST', 'people', each)).json))
    await saveAll('one')
    const [save] = await course.listed()
    await course.editDocument('saves', save?.id ?? '', { owner: ann.id, owner_name: 'ann' })
    expect((await course.send('POST', `people/${ann.id}/merge`, { json: { into: ben.id } })).status).toBe(200)
    expect(await course.listed(`owner=${ben.id}`)).toMatchObject([{ owner: ben.id, owner_name: 'ben' }])
    expect(await course.workIn(save?.id ?? '', 'admin')).toBe(workOf('one'))
  })

  it('who are removed leave no saves', async () => {
    const { json: ann } = await course.send('POST', 'people', { json: { name: 'ann', role: 'user' } })
    await saveAll('one', 'two')
    const [first] = await course.listed()
    await course.editDocument('saves', first?.id ?? '', { owner: ann.id })
    expect((await course.send('DELETE', `people/${ann.id}`)).status).toBe(204)
    expect(await numbers()).toEqual([2])
    expect((await course.store.blobs.total()).count).toBe(1)
  })
})

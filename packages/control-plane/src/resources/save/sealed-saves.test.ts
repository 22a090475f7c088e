import { expect, it } from 'vitest'
import { keyIdIn, keyIdOf } from '../../crypto.ts'
import { storedKeys } from '../../keys/secret-keys.ts'
import { aSavedCourse, type SavedCourse, workOf } from '../../testing/saved-course.ts'

const key = (byte: number) => Buffer.alloc(32, byte)
const rotate = async (course: SavedCourse) => (await course.send('POST', 'secret-key/rotate')).json
const keysInUse = async (course: SavedCourse) =>
  new Set((await course.all('saves')).map(({ sealed_key }) => keyIdIn(sealed_key)))

it('a rotation seals the keys of saves again and leaves their content as it is', async () => {
  const secretKeys = storedKeys([key(1)])
  const course = aSavedCourse({ secretKeys })
  const { id } = await course.inSlot()
  for (const name of ['one', 'two']) await course.saved(id, workOf(name))
  const saves = await course.listed()
  const blobs = () => Promise.all(saves.map(save => course.store.blobs.read(save.id)))
  const before = await blobs()
  const { active_key, done } = await rotate(course)
  expect([done, await keysInUse(course)]).toEqual([true, new Set([active_key])])
  expect(secretKeys.all().map(keyIdOf)).toEqual([active_key])
  expect(await blobs()).toEqual(before)
  expect(await course.workIn(saves[0]?.id ?? '')).toBe(workOf('one'))
})

it('a save that is written while a rotation ends can be read afterwards', async () => {
  const course = aSavedCourse({ secretKeys: storedKeys([key(1)]) })
  const { id } = await course.inSlot()
  // The rotation begins and ends between the seal of the key and the insertion of the save.
  course.store.interrupt({ kind: 'save', write: 'insert', when: 'before', run: () => rotate(course) })
  const save = await course.saved(id, workOf('one'))
  expect(await course.workIn(save.id)).toBe(workOf('one'))
  expect((await keysInUse(course)).size).toBe(1)
  await rotate(course)
  expect(await course.workIn(save.id)).toBe(workOf('one'))
})

it('no save can be read with the key or the content of another one', async () => {
  const course = aSavedCourse({ secretKeys: storedKeys([key(1)]) })
  const { id } = await course.inSlot()
  const [first, second] = [await course.saved(id, workOf('one')), await course.saved(id, workOf('two'))]
  const [stored] = (await course.all('saves')).filter(save => save.id === first.id)
  await course.editDocument('saves', second.id, { sealed_key: stored?.sealed_key ?? '' })
  const answer = await course.send('GET', `saves/${second.id}/topology`)
  expect([answer.status, answer.json.code, answer.json.detail]).toEqual([
    409,
    'save_unreadable',
    `the key or the content of ${second.id} is lost or damaged`,
  ])
})

it('says so when the key that sealed it is lost', async () => {
  const course = aSavedCourse({ secretKeys: storedKeys([key(1)]) })
  const { id } = await course.inSlot()
  const save = await course.saved(id, workOf('one'))
  const next = aSavedCourse({ store: course.store, secretKeys: storedKeys([key(2)]) })
  expect((await next.send('GET', `saves/${save.id}/topology`)).json.code).toBe('save_unreadable')
  const restored = aSavedCourse({ store: course.store, secretKeys: storedKeys([key(2), key(1)]) })
  expect(await restored.workIn(save.id)).toBe(workOf('one'))
})

import { expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aCourse } from '../../testing/bookable-fleet.ts'

const MORE = { cpu_cores: 20, memory_gb: 90, storage_gb: 50, node_count: 9 }

it('D-3: reserves and releases the booked amount, also after the definition changes', async () => {
  const course = aCourse()
  const { id: workerId } = await course.serving()
  const { id, needs, definition } = await course.book()
  const definitions = course.store.collection(RESOURCES.definitions)
  const stored = await definitions.get(definition.id)
  if (stored === null) throw new Error('there is one')
  await definitions.replace({ ...stored, needs: MORE, version: stored.version + 1 })
  expect((await course.assign(id, workerId)).status).toBe(200)
  const { node_count: nodes, ...rest } = needs
  expect((await course.get(workerId)).reservations[id]).toMatchObject({ ...rest, nodes })
  expect((await course.get(workerId)).capacity.reserved).toEqual({ ...rest, nodes })
  await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
  await course.reportSession(id, { status: 'TERMINATED' })
  const nothing = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }
  expect(await course.get(workerId)).toMatchObject({ reservations: {}, capacity: { reserved: nothing } })
})

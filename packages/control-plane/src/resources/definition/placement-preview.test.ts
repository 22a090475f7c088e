import { textReason } from '@lcm/domain/reason'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const preview = async (more: object = {}) => {
  const { id } = await course.define(more)
  return (await course.send('POST', `lablet-definitions/${id}/placement-preview`, { as: 'user' })).json
}

it('ranks candidates and explains refusals, without placing', async () => {
  const [full, empty] = [await course.serving(), await course.serving()]
  await course.placed(full.id)
  const cordoned = await course.serving({ cordoned: true, name: 'closed' })
  const { id } = (await course.send('GET', 'lablet-definitions')).json.items[0]
  const { json } = await course.send('POST', `lablet-definitions/${id}/placement-preview`)
  expect(json).toMatchObject({
    outcome: 'place',
    candidates: [{ worker_id: full.id }, { worker_id: empty.id, before: { memory: 0 } }],
    refusals: [
      { worker_id: cordoned.id, worker_name: 'closed', category: 'status', because: { code: 'worker_cordoned' } },
    ],
  })
  expect((await course.get(empty.id)).reservations).toEqual({})
})

it('would scale up without workers', async () => {
  await course.send('POST', 'worker-templates', { json: { ...METAL, license_product: 'CML_Enterprise' } })
  expect(await preview()).toMatchObject({ outcome: 'scale_up', candidates: [], refusals: [] })
})

it('would wait for a worker that is starting', async () => {
  await course.create({ license: { product: 'CML_Enterprise' } })
  expect(await preview()).toMatchObject({ outcome: 'wait', because: { code: 'waiting_for_worker' } })
})

it('would resume a stopped worker', async () => {
  const { id } = await course.serving()
  await course.edit(id, worker => ({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    pause: { ...worker.pause, reason: textReason('idle') },
  }))
  expect(await preview()).toMatchObject({ outcome: 'resume' })
})

it('reports needs that no worker can satisfy', async () => {
  const needs = { cpu_cores: 1000, memory_gb: 1, storage_gb: 1, node_count: 1 }
  expect(await preview({ needs })).toMatchObject({ outcome: 'unschedulable' })
  const waiting = { name: 'later', topology: undefined, source: 's3://bucket/lab.zip' }
  expect(await preview(waiting)).toMatchObject({
    outcome: 'unschedulable',
    because: { code: 'topology_not_fetched' },
  })
})

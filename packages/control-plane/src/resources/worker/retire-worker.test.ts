import { textReason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const allow = (terminate_sleeping: boolean) => course.send('PATCH', 'settings', { json: { terminate_sleeping } })
const retire = (id: string) =>
  course.fenced(
    'POST',
    `workers/${id}/retire`,
    { reason: textReason('nothing is planned') },
    { by: 'resource-scheduler' },
  )

/** Bought for sessions, and stopped by the idle policy. */
const bought = async () => stopped((await course.running()).id)
const stopped = (id: string) =>
  course.edit(id, worker => ({
    ...{ desired_status: 'STOPPED', desired_by: 'idle', status: 'STOPPED', origin: 'SCALE_UP' },
    license: { ...worker.license, product: null },
    pause: { ...worker.pause, reason: textReason('idle'), by: 'idle' },
  }))

it('terminates a worker that a policy bought and stopped, if the setting allows it', async () => {
  const { id } = await bought()
  expect((await retire(id)).json.code).toBe('worker_held')
  await allow(true)
  const retired = { desired_status: 'TERMINATED', desired_by: 'calendar', desired_reason: 'nothing is planned' }
  expect((await retire(id)).json).toMatchObject(retired)
  const { version } = await course.get(id)
  expect((await retire(id)).json.version).toBe(version)
  const [audit] = (await course.journal('audit', `worker:${id}`)).map(({ body }) => body)
  expect(audit).toMatchObject({ action: 'terminate', actor: { name: 'calendar' } })
})

it.each<[string, Partial<Worker>]>([
  ['a person created', { origin: 'USER' }],
  ['is protected', { protected: true }],
  ['runs', { status: 'RUNNING' }],
  ['is requested to run', { desired_status: 'RUNNING' }],
  ['a person stopped', { pause: { reason: null, by: null } as Worker['pause'] }],
  ['sessions wait for', { wanted_by: ['ls-1'] }],
])('keeps one that %s', async (_, more) => {
  await allow(true)
  const { id } = await bought()
  await course.edit(id, worker => ({
    ...more,
    ...('pause' in more ? { pause: { ...worker.pause, ...more.pause } } : {}),
  }))
  expect((await retire(id)).json.code).toBe('worker_held')
  expect((await course.get(id)).desired_status).toBe(more.desired_status ?? 'STOPPED')
})

it('keeps one that has a license or any lab', async () => {
  await allow(true)
  const licensed = await bought()
  await course.edit(licensed.id, ({ license }) => ({ license: { ...license, product: 'CML_Enterprise' } }))
  expect((await retire(licensed.id)).json.code).toBe('worker_held')
  const { id } = await course.running()
  const seen = { lab_id: 'one', title: 'made by hand', owner: null, state: 'STOPPED', node_count: 1, link_count: 0 }
  const discovery = { worker_id: id, began_at: (await course.get(id)).updated_at, is_complete: true, labs: [seen] }
  await course.fenced('POST', 'lab-records/discoveries', discovery, { by: 'lablet-controller' })
  await stopped(id)
  expect((await retire(id)).json.code).toBe('worker_held')
})

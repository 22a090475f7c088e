import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { beforeEach, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const resume = (id: string, session_ids = ['ls-1']) =>
  course.fenced(
    'POST',
    `workers/${id}/resume`,
    { session_ids, reason: textReason('they wait') },
    { by: 'resource-scheduler' },
  )

/** Stopped by the idle policy. */
const paused = async () => {
  const { id } = await course.running()
  return course.edit(id, worker => ({
    desired_status: 'STOPPED',
    desired_by: 'idle',
    status: 'STOPPED',
    pause: { ...worker.pause, reason: textReason('idle'), by: 'idle' },
  }))
}

it('starts a worker that a policy stopped, and records the sessions', async () => {
  const { id } = await paused()
  expect((await resume(id)).json).toMatchObject({
    desired_status: 'RUNNING',
    desired_by: 'resume_for_session',
    desired_reason: 'they wait',
    wanted_by: ['ls-1'],
    pause: { reason: null, counts: { resumed: 1 } },
  })
  expect((await resume(id, ['ls-1', 'ls-2'])).json).toMatchObject({
    wanted_by: ['ls-1', 'ls-2'],
    pause: { counts: { resumed: 1 } },
  })
  const { version } = await course.get(id)
  expect((await resume(id)).json.version).toBe(version)
  const [audit] = (await course.journal('audit', `worker:${id}`)).map(({ body }) => body)
  expect(audit).toMatchObject({ action: 'resume', actor: { name: 'resume_for_session' } })
})

it('leaves a worker that a person stopped, until the hold ends', async () => {
  const { id } = await course.running()
  await course.act(id, 'stop')
  expect((await resume(id)).json.code).toBe('worker_held')
  const other = await course.running()
  await course.act(other.id, 'stop', { until: toInstant(course.clock.now() + 60_000) })
  expect((await resume(other.id)).json.code).toBe('worker_held')
  await course.clock.advance(61_000)
  expect((await resume(other.id)).json.desired_status).toBe('RUNNING')
})

it('does not change drained or terminated workers', async () => {
  const { id } = await course.running()
  await course.act(id, 'drain')
  expect((await resume(id)).json.code).toBe('worker_held')
  await course.act(id, 'terminate')
  expect((await resume(id)).json.code).toBe('worker_terminating')
})

it('drops sessions that no longer wait', async () => {
  const { id } = await paused()
  const [waiting, gone] = [await course.book(), await course.book()]
  await resume(id, [waiting.id, gone.id, 'ls-none'])
  await course.send('DELETE', `lablet-sessions/${gone.id}`)
  await course.tend()
  expect((await course.get(id)).wanted_by).toEqual([waiting.id])
})

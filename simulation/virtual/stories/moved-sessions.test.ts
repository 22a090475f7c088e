import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

/** A session in use on the first of these workers, with its lab and access there. */
async function inSession(seed: number, { workers = ['metal-1', 'metal-2'], minutes = 60 } = {}) {
  const story = await aClass(seed)
  const { operator, manual, learner, world } = story
  const ids: string[] = []
  const [first = '', ...others] = workers
  ids.push((await operator.createAndRun(first)).id)
  const { id } = await learner.book('two', { duration_minutes: minutes }, 'ada')
  const running = await learner.until(id, 'RUNNING', 30 * MINUTE_MS)
  for (const name of others) ids.push((await operator.createAndRun(name)).id)
  const [worker = '', other = ''] = ids
  expect(running.worker_id).toBe(worker)
  const health = async () => (await world.session(id)).health.status
  const labsOn = (machine: string) => world.sessions.existingLabs().filter(lab => lab.machine === machine)
  const serves = (workerId: string) => () =>
    world.workers().find(each => each.id === workerId)?.service_status === 'AVAILABLE'
  await world.untilTrue('every CML', () => ids.every(each => serves(each)()), HOUR_MS)
  return { ...story, id, running, worker, other, machine: await manual.machineOf(worker), health, labsOn, serves }
}

describe('a session whose machine is terminated', () => {
  it.each(['by AWS', 'by an operator'])(
    '%s runs elsewhere for the rest of its timeslot, with the same id',
    async by => {
      const { world, operator, manual, learner, id, running, worker, other, machine, health, labsOn, over } =
        await inSession(341)
      if (by === 'by AWS') manual.terminate(machine)
      else await operator.terminate(worker, { force: true })
      await learner.until(id, 'SCHEDULED', 15 * MINUTE_MS)
      expect(await world.session(id)).toMatchObject({ worker_id: other, access: [], pipeline: null, conditions: [] })
      expect(await health()).toBe('DOWN')
      const again = await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
      expect(again).toMatchObject({
        worker_id: other,
        timeslot: running.timeslot,
        last_error: null,
        waiting_reason: null,
      })
      expect(await health()).toBe('OK')
      const { https_endpoint } = await world.worker(other)
      expect(new Set(again.access.map(({ host }) => host))).toEqual(new Set([new URL(https_endpoint ?? '').hostname]))
      expect(world.sessions.existingLabs()).toHaveLength(1)
      expect(labsOn(await manual.machineOf(other))).toHaveLength(1)
      await learner.until(id, 'ARCHIVED', 2 * HOUR_MS)
      await over()
    },
  )

  it('waits for a worker that is bought for it, and runs there', async () => {
    const { world, manual, learner, id, machine, over } = await inSession(342, { workers: ['metal-1'] })
    manual.terminate(machine)
    await learner.until(id, 'PENDING', 15 * MINUTE_MS)
    await world.runFor(10_000)
    expect((await world.session(id)).waiting_reason?.code).toBe('moved_session_waits')
    const again = await learner.until(id, 'RUNNING', HOUR_MS)
    expect(world.workers().find(({ id: each }) => each === again.worker_id)?.origin).toBe('SCALE_UP')
    await learner.until(id, 'ARCHIVED', 2 * HOUR_MS)
    await over()
  })

  it('ends with an error that says so when no worker has capacity in time', async () => {
    const { world, manual, learner, id, machine, over } = await inSession(343, { workers: ['metal-1'], minutes: 20 })
    await world.client.call('patchSettings', { body: { scale_up_enabled: false } })
    manual.terminate(machine)
    const ended = await learner.until(id, 'TERMINATED', HOUR_MS)
    expect(ended.last_error).toMatch(/left its worker at .*, and the timeslot ended before its lab was ready/)
    await over()
  })
})

describe('a session whose worker may come back', () => {
  it('leaves a stopped one for capacity after ten minutes, and its old lab is deleted when the machine is back', async () => {
    const { world, operator, learner, id, worker, other, machine, labsOn, serves, over } = await inSession(344)
    await operator.stop(worker, { force: true })
    await world.until(worker, 'STOPPED', 10 * MINUTE_MS)
    await world.runFor(9 * MINUTE_MS)
    expect(await world.session(id)).toMatchObject({ status: 'RUNNING', worker_id: worker, health: { status: 'DOWN' } })
    await learner.until(id, 'SCHEDULED', 2 * MINUTE_MS)
    const again = await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
    expect(again.worker_id).toBe(other)
    expect([Object.keys((await world.worker(worker)).reservations), labsOn(machine)]).toMatchObject([[id], [{}]])
    await operator.start(worker)
    await world.untilTrue('its CML', serves(worker), HOUR_MS)
    await world.untilTrue('the end of its old lab', () => labsOn(machine).length === 0, 10 * MINUTE_MS)
    await world.runFor(2 * MINUTE_MS)
    expect(await world.worker(worker)).toMatchObject({ reservations: {}, ports: {} })
    expect((await world.session(id)).status).toBe('RUNNING')
    await learner.until(id, 'ARCHIVED', 2 * HOUR_MS)
    await over()
  })

  it('stays on a draining one', async () => {
    const { world, operator, learner, id, worker, over } = await inSession(345)
    await operator.drain(worker)
    const ended = await learner.until(id, 'ARCHIVED', 2 * HOUR_MS)
    expect(ended.worker_id).toBe(worker)
    expect(ended.state_history.filter(({ to }) => to === 'PENDING')).toHaveLength(1)
    await world.until(worker, 'STOPPED', HOUR_MS)
    await over()
  })

  it('stays on one with a silent CML until its owner moves it', async () => {
    const { world, manual, learner, id, worker, other, machine, health, labsOn, over } = await inSession(346)
    const move = () => world.learner('ada').call('moveSession', { params: { id }, body: { reason: 'CML is silent' } })
    await expect(move()).rejects.toThrow('only operators can move a session that works')
    manual.silence(machine, 'cut')
    await world.runFor(20 * MINUTE_MS)
    expect(await world.session(id)).toMatchObject({ status: 'RUNNING', worker_id: worker })
    expect(await health()).toBe('DEGRADED')
    await move()
    await expect(move()).rejects.toThrow('already moves')
    const again = await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
    expect([again.worker_id, again.state_history.some(({ because }) => because.code === 'session_moved_by')]).toEqual([
      other,
      true,
    ])
    expect(labsOn(machine)).toHaveLength(1)
    manual.endSilence(machine)
    await world.untilTrue('the end of its old lab', () => labsOn(machine).length === 0, 10 * MINUTE_MS)
    await learner.until(id, 'ARCHIVED', 2 * HOUR_MS)
    await over()
  })
})

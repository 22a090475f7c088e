import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

describe('an unused worker', () => {
  it('is paused after an hour with a reason, and runs again after a start', async () => {
    const { world, operator, manual, done } = await aStory(201)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    await world.runFor(50 * MINUTE_MS)
    expect((await world.worker(id)).status).toBe('RUNNING')
    const stopped = await world.until(id, 'STOPPED', 30 * MINUTE_MS)
    expect(stopped).toMatchObject({
      desired_status: 'STOPPED',
      desired_by: 'idle',
      pause: { reason: { code: 'worker_idle' } },
    })
    const decisions = await operator.decisions(id)
    const pause = decisions.find(({ action }) => action === 'pause')
    expect(pause?.because).toMatchObject({ code: 'idle_timeout', params: { worker: 'metal-1' } })
    expect(stopped.desired_reason).toBe(pause?.because.message)
    expect(pause?.guards).toContainEqual(expect.objectContaining({ name: 'idle_seconds', passed: true }))
    await operator.start(id)
    await world.until(id, 'RUNNING')
    await world.runFor(55 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'RUNNING', ec2_instance_id: machine })
    await world.until(id, 'STOPPED', 30 * MINUTE_MS)
    expect((await world.worker(id)).pause.counts).toMatchObject({ auto: 2, resumed: 1 })
    await done()
  })

  it('is not paused while it is used, while it has a session, and while its activity is unknown', async () => {
    const { world, operator, manual, done } = await aStory(202)
    const [used, booked, silent] = await Promise.all(['used', 'booked', 'silent'].map(name => operator.create(name)))
    for (const id of [used, booked, silent]) await world.until(id ?? '', 'RUNNING')
    await operator.sessions(booked ?? '', ['ls-1'])
    manual.onCml(await manual.machineOf(silent ?? ''), 'POST telemetry', { opt_in: false })
    const machine = await manual.machineOf(used ?? '')
    for (let quarter = 0; quarter < 8; quarter += 1) {
      manual.useServer(machine)
      await world.runFor(15 * MINUTE_MS)
    }
    expect(world.workers().map(({ status }) => status)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    await done()
  })

  it('is not paused below the minimum, nor two within the cooldown, also when the leader dies in between', async () => {
    const { world, operator, done } = await aStory(203)
    await operator.set({ min_workers: 2, idle_timeout_seconds: 1800, scale_down_cooldown_seconds: 1200 })
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) ids.push(await operator.create(`metal-${n}`))
    for (const id of ids) await world.until(id, 'RUNNING')
    const isPaused = () => world.workers().filter(each => each.desired_status === 'STOPPED')
    await world.untilTrue('the first pause', () => isPaused().length === 1, 2 * HOUR_MS)
    world.startWorkerController('two')
    world.coordination.faults.loseLease('worker-controller')
    for (let minute = 0; minute < 150; minute += 1) {
      await world.runFor(MINUTE_MS)
      expect(world.workers().length - isPaused().length).toBeGreaterThanOrEqual(2)
    }
    const pausedAt = isPaused().map(each => new Date(each.pause.last_paused_at ?? '').getTime())
    expect(pausedAt).toHaveLength(3)
    const gaps = pausedAt.sort((a, b) => a - b).map((at, index) => at - (pausedAt[index - 1] ?? 0))
    expect(Math.min(...gaps.slice(1))).toBeGreaterThanOrEqual(20 * MINUTE_MS)
    const outcomes = (await Promise.all(ids.map(id => operator.journal('scaling', `worker:${id}`)))).flat()
    const kinds = new Set(outcomes.map(({ body }) => ('outcome' in body ? body.outcome : '')))
    expect(kinds).toContain('skipped_min_workers')
    expect(kinds).toContain('skipped_cooldown')
    await done()
  })

  it('is one of a quarter that is paused within 10 minutes, of a class that ends together', async () => {
    const { world, operator, done } = await aStory(206)
    await operator.set({ idle_timeout_seconds: 1800 })
    const ids: string[] = []
    for (let n = 0; n < 8; n += 1) ids.push(await operator.create(`metal-${n}`))
    for (const id of ids) await world.until(id, 'RUNNING')
    const isPaused = () => world.workers().filter(each => each.desired_status === 'STOPPED')
    await world.untilTrue('all are paused', () => isPaused().length === 8, 3 * HOUR_MS)
    const pausedAt = isPaused()
      .map(each => new Date(each.pause.last_paused_at ?? '').getTime())
      .sort((a, b) => a - b)
    for (const at of pausedAt) expect(pausedAt.filter(each => each <= at && at - each < 595_000).length).toBeLessThan(3)
    expect(pausedAt.filter(at => at - (pausedAt[0] ?? 0) < 595_000)).toHaveLength(2)
    await done()
  })

  it('that a user holds until a time is not paused before', async () => {
    const { world, operator, done } = await aStory(204)
    const { id } = await operator.createAndRun('metal-1')
    const until = new Date(world.time.clock.now() + 3 * HOUR_MS).toISOString()
    await world.client.call('startWorker', { params: { id }, body: { until } })
    await world.runFor(175 * MINUTE_MS)
    expect((await world.worker(id)).status).toBe('RUNNING')
    await world.until(id, 'STOPPED', 30 * MINUTE_MS)
    await done()
  })
})

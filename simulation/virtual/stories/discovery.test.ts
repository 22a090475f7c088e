import { TAG } from '@lcm/domain/worker/ec2-instance'
import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { FLEET } from '../world/worker-controller-process.ts'
import { aStory } from './story-fixture.ts'

const MARKED = { [TAG.discovery]: 'true', [TAG.name]: 'found', 'cml-environment': 'prod' }
const OURS = { [TAG.discovery]: 'true', [TAG.fleet]: FLEET, [TAG.workerId]: 'w-forgotten' }

describe('a machine tagged for discovery', () => {
  it('becomes one worker, also after a change of leaders', async () => {
    const { world, operator, manual, done } = await aStory(701)
    const machine = manual.plant(MARKED)
    await world.untilTrue('found', () => world.workers().length === 1, 20 * MINUTE_MS)
    const [{ id } = { id: '' }] = world.workers()
    const running = await world.until(id, 'RUNNING')
    expect(running).toMatchObject({ origin: 'DISCOVERY', ec2_instance_id: machine, name: 'found' })
    expect(running.labels).toEqual({ environment: 'prod' })
    world.startWorkerController('two')
    world.coordination.faults.loseLease('worker-controller')
    await world.runFor(20 * MINUTE_MS)
    expect(world.workers()).toHaveLength(1)
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    await operator.approve(id)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED')
    await world.runFor(20 * MINUTE_MS)
    expect(world.workers()).toHaveLength(1)
    expect(world.mutations.filter(({ act }) => act === 'launch')).toEqual([])
    await done()
  })

  it('stays stopped if it was stopped; machines of another fleet or without a tag are ignored', async () => {
    const { world, manual, done } = await aStory(702)
    const stopped = manual.plant(MARKED)
    manual.plant({ ...MARKED, [TAG.fleet]: 'another-fleet' })
    manual.plant({})
    await world.untilTrue('running', () => manual.stateOf(stopped) === 'running')
    manual.stop(stopped)
    await world.runFor(30 * MINUTE_MS)
    expect(world.workers()).toMatchObject([{ ec2_instance_id: stopped, status: 'STOPPED', desired_status: 'STOPPED' }])
    expect(world.mutations).toEqual([])
    await done()
  })
})

describe('an orphaned machine of the fleet', () => {
  it('is reported and not changed', async () => {
    const { world, one, manual, done } = await aStory(703)
    const machine = manual.plant(OURS)
    await world.runFor(HOUR_MS)
    expect(one.plan()).toMatchObject([{ resource: `fleet:${machine}`, action: 'orphan_report' }])
    expect(manual.stateOf(machine)).toBe('running')
    expect(world.workers()).toEqual([])
    await done()
  })

  it('is terminated if the settings say so, at most two per hour, and never a protected one', async () => {
    const { world, operator, manual, done } = await aStory(704)
    await operator.set({ orphan_action: 'terminate' })
    const orphans = Array.from({ length: 6 }, () => manual.plant(OURS))
    const kept = manual.plant({ ...OURS, 'lcm:keep': 'yes' })
    const dead = () => orphans.filter(each => !['pending', 'running'].includes(manual.stateOf(each))).length
    await world.runFor(55 * MINUTE_MS)
    expect(dead()).toBe(2)
    await world.runFor(HOUR_MS)
    expect(dead()).toBe(4)
    expect(manual.stateOf(kept)).toBe('running')
    const noted = await operator.journal('decision', `fleet:${orphans[0]}`)
    expect(noted.length).toBeGreaterThan(0)
    await done()
  })
})

describe('a cloud that suddenly shows no machines', () => {
  it('costs at most a fifth of the fleet within an hour, and the rest is recovered', async () => {
    const { world, operator, done } = await aStory(705)
    await operator.set({ idle_detection_enabled: false, orphan_action: 'terminate' })
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => operator.create(`metal-${n}`)))
    for (const id of ids) await world.until(id, 'RUNNING')
    world.access.isWrongAccount = true
    await world.runFor(55 * MINUTE_MS)
    const lost = () => world.workers().filter(each => each.status === 'TERMINATED').length
    expect(lost()).toBeGreaterThan(0)
    expect(lost()).toBeLessThanOrEqual(2)
    world.access.isWrongAccount = false
    await world.runFor(30 * MINUTE_MS)
    expect(lost()).toBeLessThanOrEqual(2)
    expect(world.workers().filter(each => each.status === 'RUNNING')).toHaveLength(10 - lost())
    expect(world.mutations.filter(({ act }) => act === 'launch')).toHaveLength(10)
    await done()
  })
})

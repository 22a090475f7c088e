import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

const ZONES = ['us-east-1a', 'us-east-1b']
const TYPES = ['m5zn.metal', 'm5.metal']
const THROTTLED = { code: 'RequestLimitExceeded', status: 503, message: 'Request limit exceeded.' }

describe('without capacity', () => {
  it('the next subnet is tried, then the next instance type', async () => {
    const { world, operator, manual, done } = await aStory(601)
    manual.setCapacity('us-east-1a', 'm5zn.metal', 0)
    const first = await operator.createAndRun('metal-1')
    expect(first).toMatchObject({ availability_zone: 'us-east-1b', instance_type: 'm5zn.metal' })
    manual.setCapacity('us-east-1b', 'm5zn.metal', 0)
    const second = await operator.createAndRun('metal-2')
    expect(second).toMatchObject({ availability_zone: 'us-east-1a', instance_type: 'm5.metal' })
    expect(world.cloud.machines()).toHaveLength(2)
    await done()
  })

  it('a worker waits with a reason and is launched when there is capacity', async () => {
    const { world, operator, manual, done } = await aStory(602)
    for (const zone of ZONES) for (const type of TYPES) manual.setCapacity(zone, type, 0)
    const id = await operator.create('metal-1')
    await world.runFor(30 * MINUTE_MS)
    const waiting = await world.worker(id)
    expect(waiting.status).toBe('PENDING')
    expect(waiting.conditions).toContainEqual(
      expect.objectContaining({
        type: 'LaunchBlocked',
        status: true,
        reason: expect.objectContaining({ code: 'ec2_no_capacity' }),
      }),
    )
    const tries = world.mutations.length
    expect(tries).toBeGreaterThanOrEqual(20)
    expect(tries).toBeLessThanOrEqual(60)
    manual.setCapacity('us-east-1b', 'm5.metal', 1)
    const running = await world.until(id, 'RUNNING', 10 * MINUTE_MS)
    expect(running.conditions.map(({ type }) => type)).not.toContain('LaunchBlocked')
    expect(world.cloud.machines()).toHaveLength(1)
    await done()
  })

  it('a stopped worker waits in its own zone without a limit', async () => {
    const { world, operator, manual, done } = await aStory(603)
    const { id, availability_zone, instance_type } = await operator.createAndRun('metal-1')
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    manual.setCapacity(availability_zone ?? '', instance_type ?? '', 0)
    await operator.start(id)
    await world.runFor(120 * MINUTE_MS)
    expect((await world.worker(id)).status).toBe('STARTING')
    const decisions = await operator.decisions(id)
    expect(decisions.map(({ outcome }) => outcome).join()).toMatch(/InsufficientInstanceCapacity/)
    manual.setCapacity(availability_zone ?? '', instance_type ?? '', null)
    await world.until(id, 'RUNNING', 10 * MINUTE_MS)
    await done()
  })
})

describe('where EC2 throttles', () => {
  it('thirty workers at once get one machine each, and none fails', async () => {
    const { world, operator, done } = await aStory(604, { preset: 'calm' })
    world.cloud.faults.script({ action: 'RunInstances', times: 10, fault: THROTTLED })
    world.cloud.faults.script({ action: 'DescribeInstances', times: 10, fault: THROTTLED })
    const ids = await Promise.all(Array.from({ length: 30 }, (_, n) => operator.create(`metal-${n}`)))
    for (const id of ids) await world.until(id, 'RUNNING')
    expect(world.cloud.machines()).toHaveLength(30)
    for (const { state_history } of world.workers()) expect(state_history.map(({ to }) => to)).not.toContain('FAILED')
    await done()
  })
})

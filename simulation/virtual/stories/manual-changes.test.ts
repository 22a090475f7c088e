import { TAG } from '@lcm/domain/worker/ec2-instance'
import { describe, expect, it } from 'vitest'
import { METAL } from '../world/control-plane.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { FLEET } from '../world/worker-controller-process.ts'
import { aStory } from './story-fixture.ts'

/** A poll, the listing that it may share, and its own time. */
const ONE_CYCLE_MS = 45_000

describe('a manual change of a machine', () => {
  it.each(['restart', 'accept'] as const)('a stop: %s', async external_stop => {
    const { world, operator, manual, done } = await aStory(501)
    await operator.set({ external_stop })
    const { id } = await operator.createAndRun('metal-1')
    await world.runFor(15_000)
    manual.stop(await manual.machineOf(id))
    await world.runFor(ONE_CYCLE_MS)
    expect((await world.worker(id)).service_status).not.toBe('AVAILABLE')
    if (external_stop === 'restart') {
      const again = await world.until(id, 'RUNNING')
      expect(again).toMatchObject({ desired_status: 'RUNNING', service_status: 'AVAILABLE' })
    } else {
      const stopped = await world.until(id, 'STOPPED')
      await world.runFor(30 * MINUTE_MS)
      expect(await world.worker(id)).toMatchObject({ desired_status: 'STOPPED', version: stopped.version })
      expect(stopped.pause.reason?.code).toBe('stopped_outside_lcm')
    }
    await done()
  })

  it('a start of a stopped worker: it runs for a moment and is stopped again', async () => {
    const { world, operator, manual, done } = await aStory(502)
    const { id } = await operator.createAndRun('metal-1')
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    const machine = await manual.machineOf(id)
    await world.runFor(MINUTE_MS)
    manual.start(machine)
    await world.untilTrue('noticed', () => world.workers()[0]?.status !== 'STOPPED', 11 * MINUTE_MS)
    await world.until(id, 'STOPPED', 10 * MINUTE_MS)
    expect(manual.stateOf(machine)).toBe('stopped')
    await done()
  })

  it('a termination ends the worker, which is replaced only if its template says so', async () => {
    const { world, operator, manual, done } = await aStory(503, { templates: [{ ...METAL, replace_lost: true }] })
    const { id } = await operator.createAndRun('metal-1')
    manual.terminate(await manual.machineOf(id))
    await world.until(id, 'TERMINATED', 15 * MINUTE_MS)
    await world.untilTrue('another', () => world.workers().some(each => each.id !== id && each.status === 'RUNNING'))
    expect(world.workers()).toHaveLength(2)
    const other = world.workers().find(each => each.id !== id)
    expect(other).toMatchObject({ name: 'metal-1', desired_by: 'replace_lost' })
    await done()
  })

  it('another type and another address are noticed within a cycle', async () => {
    const { world, operator, manual, done } = await aStory(504)
    const { id } = await operator.createAndRun('metal-1')
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    const machine = await manual.machineOf(id)
    manual.setType(machine, 'm5.metal')
    await world.runFor(11 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'STOPPED', instance_type: 'm5.metal' })
    await operator.start(id)
    await world.until(id, 'RUNNING')
    await world.runFor(MINUTE_MS)
    const endpoint = world.cloud.machine(machine)?.endpoint?.replace(':8443', ':9443') ?? ''
    manual.tag(machine, { [TAG.endpoint]: endpoint })
    await world.runFor(ONE_CYCLE_MS)
    expect((await world.worker(id)).https_endpoint).toBe(endpoint)
    await done()
  })

  it('a refresh polls at once and clears the request', async () => {
    const { world, operator, manual, done } = await aStory(505)
    const { id } = await operator.createAndRun('metal-1')
    await world.runFor(MINUTE_MS)
    manual.stop(await manual.machineOf(id))
    await operator.refresh(id)
    await world.runFor(1_000)
    const seen = await world.worker(id)
    expect(seen.refresh_requested_at).toBeNull()
    expect(seen.service_status).toBe('UNAVAILABLE')
    expect(seen.desired_status).toBe('RUNNING')
    await done()
  })

  it('another certificate is not trusted until it is repinned', async () => {
    const { world, operator, manual, done } = await aStory(506)
    const { id } = await operator.createAndRun('metal-1')
    manual.onCml(await manual.machineOf(id), 'POST replace-certificate')
    await world.untilTrue('silence', () => world.workers()[0]?.service_status === 'UNAVAILABLE', 10 * MINUTE_MS)
    await world.runFor(20 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'RUNNING', service_status: 'UNAVAILABLE' })
    await operator.repin(id)
    await world.untilTrue('trust', () => world.workers()[0]?.service_status === 'AVAILABLE', 5 * MINUTE_MS)
    await done()
  })
})

describe('a machine that lost its tags', () => {
  it('keeps running and is terminated only once the tags are back', async () => {
    const { world, operator, manual, done } = await aStory(507)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    manual.untag(machine, TAG.fleet)
    await world.runFor(30 * MINUTE_MS)
    const without = await world.worker(id)
    expect(without.status).toBe('RUNNING')
    expect(without.conditions).toContainEqual(expect.objectContaining({ type: 'TagsChanged', status: true }))
    await operator.terminate(id)
    await world.runFor(30 * MINUTE_MS)
    const waiting = await world.worker(id)
    expect(waiting.status).toBe('TERMINATING')
    expect(waiting.conditions).toContainEqual(expect.objectContaining({ type: 'NotOurs', status: true }))
    expect(manual.stateOf(machine)).toBe('running')
    manual.tag(machine, { [TAG.fleet]: FLEET })
    await world.until(id, 'TERMINATED', 10 * MINUTE_MS)
    await done()
  })

  it('is not changed when it is tagged by another fleet', async () => {
    const { world, operator, manual, done } = await aStory(508)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    manual.tag(machine, { [TAG.fleet]: 'another-fleet' })
    await operator.stop(id)
    await world.runFor(30 * MINUTE_MS)
    expect(manual.stateOf(machine)).toBe('running')
    await operator.terminate(id)
    await world.runFor(30 * MINUTE_MS)
    expect(manual.stateOf(machine)).toBe('running')
    expect((await world.worker(id)).conditions).toContainEqual(expect.objectContaining({ type: 'NotOurs' }))
    await done()
  })
})

describe('a machine that is protected in EC2', () => {
  it('is retried with a condition, and terminated when the protection is removed', async () => {
    const { world, operator, manual, done } = await aStory(509)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    manual.protect(machine, true)
    await operator.terminate(id)
    await world.runFor(40 * MINUTE_MS)
    const waiting = await world.worker(id)
    expect(waiting.status).toBe('TERMINATING')
    expect(waiting.conditions).toContainEqual(expect.objectContaining({ type: 'Overdue', status: true }))
    expect(manual.stateOf(machine)).toBe('running')
    manual.protect(machine, false)
    await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
    await done()
  })
})

import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

const notPermitted = (action: string) =>
  expect.objectContaining({
    code: 'ec2_refuses',
    params: expect.objectContaining({ action, aws_code: 'OperationNotPermitted' }),
  })

it('a stop-protected machine is counted until EC2 stops it', async () => {
  const { world, operator, manual, done } = await aStory(307)
  const { id, cost_per_hour_usd } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  manual.keepRunning(machine, true)
  await operator.stop(id)
  const { billing: before } = await world.until(id, 'STOPPING')
  await world.runFor(2 * HOUR_MS)
  expect(manual.stateOf(machine)).toBe('running')
  manual.keepRunning(machine, false)
  const { billing: after } = await world.until(id, 'STOPPED', 20 * MINUTE_MS)
  expect((after.closed_usd - before.closed_usd) / Number(cost_per_hour_usd)).toBeCloseTo(2, 0)
  await done()
})

it('a stop that EC2 refuses sets a condition once, until EC2 stops the machine', async () => {
  const { world, operator, manual, done } = await aStory(308)
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  manual.keepRunning(machine, true)
  await operator.stop(id)
  await world.until(id, 'STOPPING')
  await world.runFor(MINUTE_MS)
  const worker = await world.worker(id)
  expect(worker.conditions).toContainEqual(
    expect.objectContaining({ type: 'StopBlocked', status: true, reason: notPermitted('stop') }),
  )
  await world.runFor(HOUR_MS)
  expect((await world.worker(id)).version, 'reported once').toBe(worker.version)
  expect(world.mutations.filter(({ act }) => act === 'stop').length).toBeLessThanOrEqual(70)
  manual.keepRunning(machine, false)
  const stopped = await world.until(id, 'STOPPED', 5 * MINUTE_MS)
  expect(stopped.conditions.map(({ type }) => type)).not.toContain('StopBlocked')
  await done()
})

it('a termination that EC2 refuses sets a condition, and happens once EC2 allows it', async () => {
  const { world, operator, manual, done } = await aStory(309)
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  manual.protect(machine, true)
  await operator.terminate(id)
  await world.until(id, 'TERMINATING')
  await world.runFor(MINUTE_MS)
  expect((await world.worker(id)).conditions).toContainEqual(
    expect.objectContaining({ type: 'TerminateBlocked', status: true, reason: notPermitted('terminate') }),
  )
  manual.protect(machine, false)
  await world.until(id, 'TERMINATED', 5 * MINUTE_MS)
  await done()
})

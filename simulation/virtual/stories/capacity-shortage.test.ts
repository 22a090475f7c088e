import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

it('a start without capacity has a condition and slow retries until there is capacity', async () => {
  const { world, operator, manual, done } = await aStory(605)
  const { id, availability_zone, instance_type } = await operator.createAndRun('metal-1')
  await operator.stop(id)
  await world.until(id, 'STOPPED')
  manual.setCapacity(availability_zone ?? '', instance_type ?? '', 0)
  await operator.start(id)
  await world.runFor(MINUTE_MS)
  const worker = await world.worker(id)
  expect(worker.conditions).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ code: 'ec2_no_capacity' }), status: true }),
  )
  await world.runFor(60 * MINUTE_MS)
  expect((await world.worker(id)).version, 'reported once').toBe(worker.version)
  expect(world.mutations.filter(({ act }) => act === 'start').length).toBeLessThanOrEqual(25)
  manual.setCapacity(availability_zone ?? '', instance_type ?? '', null)
  const running = await world.until(id, 'RUNNING', 10 * MINUTE_MS)
  expect(running.conditions.map(({ reason }) => reason.code)).not.toContain('ec2_no_capacity')
  await done()
})

it('a start beyond the account quota has a condition, costs nothing, and succeeds once the quota is raised', async () => {
  const { world, operator, done } = await aStory(606)
  const { id } = await operator.createAndRun('metal-1')
  await operator.stop(id)
  const { billing } = await world.until(id, 'STOPPED')
  world.cloud.faults.patch({ vcpu_limit: 1 })
  await operator.start(id)
  await world.runFor(30 * MINUTE_MS)
  const worker = await world.worker(id)
  expect(worker).toMatchObject({ status: 'STARTING', billing: { cause: 'stopped' } })
  expect(worker.billing.closed_usd - billing.closed_usd).toBeLessThan(0.1)
  const params = expect.objectContaining({ action: 'start', aws_code: 'VcpuLimitExceeded' })
  const reason = expect.objectContaining({ code: 'aws_denies', params })
  expect(worker.conditions).toContainEqual(expect.objectContaining({ reason, status: true }))
  world.cloud.faults.patch({ vcpu_limit: null })
  const running = await world.until(id, 'RUNNING', 40 * MINUTE_MS)
  expect(running.conditions.map(({ reason }) => reason.code)).not.toContain('aws_denies')
  await done()
})

import { TAG } from '@lcm/domain/worker/ec2-instance'
import { expect, it } from 'vitest'
import { HOUR_MS } from '../world/durations.ts'
import { FLEET } from '../world/worker-controller-process.ts'
import { aStory } from './story-fixture.ts'

/** As after restoring a backup older than the launch, or when a machine appears after its attempt was closed. */
it('a machine that its worker does not reference is reported', async () => {
  const { world, one, operator, manual } = await aStory(921)
  const id = await operator.create('metal-1')
  await operator.stop(id)
  await world.runFor(60_000)
  const machine = manual.plant({ [TAG.discovery]: 'true', [TAG.fleet]: FLEET, [TAG.workerId]: id })
  await world.runFor(HOUR_MS)
  expect((await world.worker(id)).ec2_instance_id).toBeNull()
  expect(one.plan().map(({ resource }) => resource)).toContain(`fleet:${machine}`)
})

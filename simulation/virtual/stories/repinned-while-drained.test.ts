import { CONDITION, holds } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

it('a server reinstalled while it is drained serves its sessions once it is repinned', async () => {
  const { world, operator, manual, done } = await aStory(305)
  const { id, cml } = await operator.createAndRun('metal-1')
  await operator.sessions(id, ['ls-1'])
  await operator.drain(id)
  await world.until(id, 'DRAINING')
  manual.onCml(await manual.machineOf(id), 'POST replace-certificate')
  await world.untilTrue('noticed', () =>
    world.workers().some(({ conditions }) => holds(conditions, CONDITION.certificateChanged)),
  )
  expect(await world.worker(id)).toMatchObject({ status: 'DRAINING', service_status: 'UNAVAILABLE' })
  await operator.repin(id)
  await world.runFor(2 * MINUTE_MS)
  const pinned = (await world.worker(id)).cml.certificate_sha256
  expect(pinned).not.toBeNull()
  expect(pinned).not.toBe(cml.certificate_sha256)
  expect(await world.worker(id)).toMatchObject({ status: 'DRAINING', service_status: 'AVAILABLE' })
  await done()
})

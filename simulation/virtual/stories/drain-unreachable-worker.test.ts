import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

it('a worker drained while its CML does not respond serves its sessions again once CML is back', async () => {
  const { world, operator, manual, learner, done } = await aClass(901)
  const { id: worker } = await operator.createAndRun('metal-1')
  const { id } = await learner.book('two', { duration_minutes: 30 })
  await learner.until(id, 'RUNNING', 10 * MINUTE_MS)
  const machine = await manual.machineOf(worker)
  const isServing = () => world.workers()[0]?.service_status === 'AVAILABLE'
  manual.onCml(machine, 'PATCH faults', { network: 'cut' })
  await world.untilTrue('silent', () => !isServing(), 10 * MINUTE_MS)
  await operator.drain(worker)
  await world.until(worker, 'DRAINING')
  manual.onCml(machine, 'PATCH faults', { network: 'reached' })
  await world.untilTrue('serving again', isServing, 5 * MINUTE_MS)
  expect((await world.worker(worker)).status).toBe('DRAINING')
  await learner.until(id, 'ARCHIVED', 60 * MINUTE_MS)
  await done()
})

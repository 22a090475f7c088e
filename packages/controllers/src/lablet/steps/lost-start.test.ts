import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labWorld, MINUTE_MS } from '../testing/lab-world.ts'

it('a lab whose start got no answer is on record as one that may run', async () => {
  const world = await labWorld()
  const start: typeof world.labs.start = async (...args) => {
    await world.labs.start(...args)
    const since = toInstant(world.clock.now())
    const silent = { type: 'CmlReady', status: false, reason: textReason('no answer'), since }
    await world.changeWorker({ service_status: 'UNAVAILABLE', conditions: [silent] })
    throw new CloudError('transient', { code: 'Timeout', action: 'start', message: 'no answer' })
  }
  aController(world, 'one', { labs: { ...world.labs, start } })
  await world.book('ls-1')
  await world.clock.advance(20 * MINUTE_MS)
  expect((await world.session('ls-1')).status).toBe('PENDING')
  expect(await world.labsThere()).toMatchObject([{ state: 'STARTED' }])
  expect(await world.records()).toMatchObject([{ status: 'STARTING', pending_action: { action: 'delete' } }])
})

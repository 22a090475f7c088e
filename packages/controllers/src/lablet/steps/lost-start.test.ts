import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labRig, MINUTE_MS } from '../testing/lab-rig.ts'

it('a lab whose start got no response is recorded as STARTING', async () => {
  const rig = await labRig()
  const start: typeof rig.labs.start = async (...args) => {
    await rig.labs.start(...args)
    const since = toInstant(rig.clock.now())
    const silent = { type: 'CmlReady', status: false, reason: textReason('no answer'), since }
    await rig.changeWorker({ service_status: 'UNAVAILABLE', conditions: [silent] })
    throw new CloudError('transient', { code: 'Timeout', action: 'start', message: 'no answer' })
  }
  aController(rig, 'one', { labs: { ...rig.labs, start } })
  await rig.book('ls-1')
  await rig.clock.advance(20 * MINUTE_MS)
  expect((await rig.session('ls-1')).status).toBe('PENDING')
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
  expect(await rig.records()).toMatchObject([{ status: 'STARTING', pending_action: { action: 'delete' } }])
})

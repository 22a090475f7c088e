import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labRig, MINUTE_MS } from '../testing/lab-rig.ts'

it('a lab that failed to start is not kept for reuse', async () => {
  const rig = await labRig()
  rig.faults({ never_boot: ['R2'] })
  await rig.book('ls-1')
  await rig.define({ lab_reuse: true })
  aController(rig, 'one')
  await rig.clock.advance(60 * MINUTE_MS)
  expect(await rig.session('ls-1')).toMatchObject({ status: 'TERMINATED' })
  expect(await rig.labsThere()).toEqual([])
  expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
})

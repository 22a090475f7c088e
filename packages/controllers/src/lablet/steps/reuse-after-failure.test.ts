import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labWorld, MINUTE_MS } from '../testing/lab-world.ts'

it('a lab that did not come up is not kept for the next one, also where labs are used again', async () => {
  const world = await labWorld()
  world.faults({ never_boot: ['R2'] })
  await world.book('ls-1')
  await world.define({ lab_reuse: true })
  aController(world, 'one')
  await world.clock.advance(60 * MINUTE_MS)
  expect(await world.session('ls-1')).toMatchObject({ status: 'TERMINATED' })
  expect(await world.labsThere()).toEqual([])
  expect(await world.worker()).toMatchObject({ reservations: {}, ports: {} })
})

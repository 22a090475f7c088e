import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { aDefinition, labWorld, MINUTE_MS } from '../testing/lab-world.ts'

it('a lab that did not come up is not kept for the next one, also where labs are used again', async () => {
  const world = await labWorld()
  world.faults({ never_boot: ['R2'] })
  const { created_at } = world.book('ls-1')
  world.api.definitions.set('ld-1', aDefinition(created_at, { lab_reuse: true }))
  aController(world, 'one')
  await world.clock.advance(60 * MINUTE_MS)
  expect(world.api.session('ls-1')).toMatchObject({ status: 'TERMINATED' })
  expect(await world.labsThere()).toEqual([])
  expect(world.worker()).toMatchObject({ reservations: {}, ports: {} })
})

import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labWorld, MINUTE_MS } from '../testing/lab-world.ts'

const ISE = {
  lab: { version: '0.3.0', title: 'ise' },
  nodes: [{ id: 'n0', label: 'ise', node_definition: 'ise', cpu_limit: 40, x: 0, y: 0 }],
  links: [],
}

/** CML gives ISE an hour to boot, and more where its CPU is limited. Half an hour of patience wipes it in the middle, three times. */
it('a node that takes its time to boot is waited for as long as CML waits for it', async () => {
  const world = await labWorld()
  const { created_at } = await world.book('ls-1')
  const end = toInstant(world.clock.now() + 240 * MINUTE_MS)
  await world.change('ls-1', { timeslot: { start: created_at, end } })
  await world.define({ topology: JSON.stringify(ISE), port_template: [] })
  aController(world, 'one')
  await world.clock.advance(150 * MINUTE_MS)
  expect(await world.session('ls-1')).toMatchObject({ status: 'RUNNING', pipeline: { attempt: 1 } })
})

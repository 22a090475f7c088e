import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { aController } from '../testing/a-controller.ts'
import { labRig, MINUTE_MS } from '../testing/lab-rig.ts'

const ISE = {
  lab: { version: '0.3.0', title: 'ise' },
  nodes: [{ id: 'n0', label: 'ise', node_definition: 'ise', cpu_limit: 40, x: 0, y: 0 }],
  links: [],
}

/** CML gives ISE an hour to boot, and more with a CPU limit. A timeout of half an hour would wipe it during its boot, three times. */
it('a node with a slow boot is waited for as long as CML waits for it', async () => {
  const rig = await labRig()
  const { created_at } = await rig.book('ls-1')
  const end = toInstant(rig.clock.now() + 240 * MINUTE_MS)
  await rig.change('ls-1', { timeslot: { start: created_at, end } })
  await rig.define({ topology: JSON.stringify(ISE), port_template: [] })
  aController(rig, 'one')
  await rig.clock.advance(150 * MINUTE_MS)
  expect(await rig.session('ls-1')).toMatchObject({ status: 'RUNNING', pipeline: { attempt: 1 } })
})

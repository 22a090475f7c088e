import { METAL } from '@lcm/testkit/a-control-plane'
import { expect, it } from 'vitest'
import { EXIT } from '../cli-error.ts'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'

/** A fleet with one session booked for tomorrow, which needs a machine that is still to be bought. */
async function booked(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  const { api } = captured
  api.actAs({ role: 'admin' })
  const client = api.plane.others()
  await client.call('createTemplate', { body: METAL })
  await client.call('createDefinition', {
    body: {
      name: 'bgp',
      topology:
        'lab: {version: 0.3.0, title: t}\nnodes: [{id: n0, label: r1, node_definition: iol-xe, x: 0, y: 0}]\nlinks: []\n',
    },
  })
  const start = new Date(api.clock.now() + 86_400_000).toISOString()
  const { id } = await client.call('createSession', { body: { definition: 'bgp', start } })
  return { ...captured, id, lcm: (...args: string[]) => run(args, captured.shell) }
}

it.each([
  [['set', 'setting', 'max_workers_per_region', '0']],
  [['set', 'setting', 'scale_up_enabled', 'off']],
  [['disable', 'template', 'metal']],
])('%j names the sessions that would lose their capacity, and needs --yes without a terminal', async args => {
  const { lcm, err, out, id } = await booked()
  expect(await lcm(...args)).toBe(EXIT.usage)
  expect(err()).toContain(id)
  expect(err()).toContain('1 booked session would lose the promised capacity: add --yes to confirm')
  expect(out()).toBe('')
  expect(await lcm(...args, '--yes')).toBe(0)
})

it('asks nothing when no session would', async () => {
  const { lcm, out } = await booked()
  expect(await lcm('set', 'setting', 'max_workers_per_region', '5')).toBe(0)
  expect(out()).toBe('max_workers_per_region is 5\n')
})

import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { EXIT } from '../cli-error.ts'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker, START_MS } from '../testing/resource-builders.ts'

const TOPOLOGY =
  'lab: {version: 0.3.0, title: t}\nnodes: [{id: n0, label: r1, node_definition: iol-xe, x: 0, y: 0}]\nlinks: []\n'

/** A fleet with sessions booked for tomorrow, which need machines that are still to be bought. */
async function booked(options: CapturedOptions = {}, seats = 1, limit = 10) {
  const captured = capturedShell(options)
  const { api } = captured
  api.actAs({ role: 'admin' })
  const client = api.plane.others()
  await client.call('createTemplate', { body: METAL })
  await client.call('patchSettings', { body: { max_workers_per_region: limit } })
  await client.call('createDefinition', { body: { name: 'bgp', topology: TOPOLOGY } })
  const start = new Date(api.clock.now() + 86_400_000).toISOString()
  const { items } = await client.call('createSessions', { body: { definition: 'bgp', start, seats } })
  return { ...captured, id: items[0]?.id, client, lcm: (...args: string[]) => run(args, captured.shell) }
}

it.each([
  [['set', 'setting', 'max_workers_per_region', '0']],
  [['set', 'setting', 'scale_up_enabled', 'off']],
  [['disable', 'template', 'metal']],
  [['delete', 'template', 'metal']],
])('%j names the sessions that would lose their capacity, and needs --yes without a terminal', async args => {
  const { lcm, err, out, id } = await booked()
  expect(await lcm(...args)).toBe(EXIT.usage)
  expect(err()).toContain(id)
  expect(err()).toContain('1 booked session would lose its promised capacity: add --yes to confirm')
  expect(out()).toBe('')
  expect(await lcm(...args, '--yes')).toBe(0)
})

it('asks for the name of what is changed, and changes nothing after another answer', async () => {
  const wrong = await booked({ typed: 'yes' }, 12)
  expect(await wrong.lcm('disable', 'template', 'metal')).toBe(EXIT.failed)
  expect(wrong.err()).toContain(
    '  2026-01-02 00:00 UTC  bgp of admin  12 sessions\n' +
      '12 booked sessions would lose their promised capacity. Type metal to confirm: ',
  )
  expect((await wrong.client.call('getTemplate', { params: { name: 'metal' } })).enabled).toBe(true)
  const right = await booked({ typed: 'metal' })
  expect(await right.lcm('disable', 'template', 'metal')).toBe(0)
  expect((await right.client.call('getTemplate', { params: { name: 'metal' } })).enabled).toBe(false)
})

it('lists ten bookings at most', async () => {
  const { lcm, client, err } = await booked()
  for (let hour = 2; hour < 14; hour += 1) {
    const start = toInstant(START_MS + (24 + hour) * 3_600_000)
    await client.call('createSession', { body: { definition: 'bgp', start, duration_minutes: 30 } })
  }
  expect(await lcm('disable', 'template', 'metal')).toBe(EXIT.usage)
  expect(err()).toContain('\n  and 3 more\nerror: 13 booked sessions would lose their promised capacity')
})

it('counts a setting that is reset', async () => {
  // Without a license a worker runs five such labs, and the default is 10 workers.
  const { lcm, err } = await booked({}, 51, 11)
  expect(await lcm('set', 'setting', 'max_workers_per_region', '--default')).toBe(EXIT.usage)
  expect(err()).toContain('1 booked session would lose its promised capacity')
})

it.each([
  ['cordon', EXIT.usage],
  ['drain', EXIT.usage],
  ['stop', EXIT.usage],
  ['uncordon', 0],
])('%s of the only worker that there may be: exit code %i', async (verb, code) => {
  const { lcm, api, err } = await booked({}, 5, 1)
  const { cml, capacity } = aServingWorker()
  api.put(aRunningWorker({ capacity, cml: { ...cml, node_definitions: ['iol-xe'] } }))
  await api.clock.advance(0)
  expect(await lcm(verb, 'worker', 'metal-1')).toBe(code)
  expect(err().includes('5 booked sessions would lose their promised capacity: add --yes to confirm')).toBe(code !== 0)
})

it('asks nothing when no session would', async () => {
  const { lcm, out } = await booked()
  expect(await lcm('set', 'setting', 'max_workers_per_region', '5')).toBe(0)
  expect(out()).toBe('max_workers_per_region is 5\n')
})

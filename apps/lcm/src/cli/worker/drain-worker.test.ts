import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'
const PLACE = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom('2026-01-01T00:00:00.000Z') }

function fleet(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  captured.api.put(aRunningWorker({ reservations: { 'ls-1': PLACE, 'ls-2': PLACE } }))
  return { ...captured, lcm: (...args: string[]) => run(['drain', 'worker', ...args], captured.shell) }
}

it('starts a drain and lists the remaining sessions', async () => {
  const { lcm, api, out } = fleet()
  expect(await lcm('metal-1', '--within', '2h', '--reason', 'old')).toBe(0)
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  expect(api.bodies().at(-1)).toEqual({ then: 'STOPPED', reason: 'old', timeout_seconds: 7200 })
  expect(out()).toBe(
    `metal-1 (${ID}) gets no new sessions and will be STOPPED: waiting for 2 sessions ls-1, ls-2 to end, at most 2h\n`,
  )
})

it('waits until the worker is empty and stopped, and shows the remaining sessions', async () => {
  const { lcm, api, clock, out, err } = fleet()
  const done = lcm('metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { status: 'DRAINING', reservations: { 'ls-2': PLACE } })
  await clock.advance(60_000)
  api.change(ID, { status: 'STOPPING', desired_status: 'STOPPED', drain: null, reservations: {} })
  await clock.advance(0)
  api.change(ID, { status: 'STOPPED' })
  expect(await done).toBe(0)
  expect(err()).toContain('metal-1 is DRAINING: waiting for session ls-2 to end, at most 4h')
  expect(err()).toContain('metal-1 is STOPPING: waiting for EC2 to report the instance as stopped')
  expect(out()).toBe('metal-1 is STOPPED after 1m\n')
})

it('exits with 1 when another user cancels the drain', async () => {
  const { lcm, api, err } = fleet()
  const done = lcm('metal-1', '--wait')
  await api.stream(1)
  api.change(ID, { status: 'RUNNING', drain: null })
  expect(await done).toBe(1)
  expect(err()).toContain('metal-1 is no longer drained: the drain was canceled')
})

it('asks for the name before termination, unless --yes is given', async () => {
  const typed = fleet({ typed: 'no' })
  expect(await typed.lcm('metal-1', '--then', 'terminate')).toBe(1)
  expect(typed.api.requests().at(-1)).toBe('POST /capacity/preview')
  const scripted = fleet()
  expect(await scripted.lcm('metal-1', '--then', 'terminate')).toBe(2)
  const done = scripted.lcm('metal-1', '--then', 'terminate', '--yes', '--wait')
  await scripted.api.stream(1)
  scripted.api.remove(ID)
  expect(await done).toBe(0)
  expect(scripted.out()).toBe('metal-1 deleted after 0s\n')
})

it('cancels a drain', async () => {
  const { lcm, api, outLines } = fleet()
  await lcm('metal-1')
  api.change(ID, { status: 'DRAINING' })
  expect(await lcm('metal-1', '--cancel')).toBe(0)
  expect(api.requests().at(-1)).toBe(`POST /workers/${ID}/cancel-drain`)
  expect(await lcm('metal-1', '--cancel')).toBe(0)
  api.change(ID, { status: 'STOPPING', desired_status: 'STOPPED' })
  expect(await lcm('metal-1', '--cancel')).toBe(0)
  expect(outLines().slice(1)).toEqual([
    `metal-1 (${ID}) gets new sessions again`,
    `metal-1 (${ID}) was not being drained`,
    `metal-1 (${ID}) is STOPPING and will be STOPPED: its drain has ended, start it again with \`lcm start worker metal-1\``,
  ])
})

it('exits with 4 for a worker that is not running, and with 2 for contradictory options', async () => {
  const { lcm, api, err } = fleet()
  api.change(ID, { status: 'STOPPED' })
  expect(await lcm('metal-1')).toBe(4)
  expect(err()).toMatch(/metal-1 is STOPPED; .+: stop or terminate it without draining/)
  expect(await lcm('metal-1', '--cancel', '--wait')).toBe(2)
  expect(await lcm('metal-1', '--within', '8d')).toBe(2)
})

import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import { aLab, aReadySession } from '../testing/resource-builders.ts'

function worker(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  const { labs } = captured.api
  labs.put(aLab())
  return { ...captured, labs, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('requests the stop of a lab with a reason', async () => {
  const { lcm, api, out } = worker()
  expect(await lcm('stop', 'lab', 'BGP basics', '--reason', 'forgotten')).toBe(0)
  expect(api.requests().at(-1)).toBe('POST /lab-records/lr-1/stop')
  expect(api.bodies()).toEqual([{ reason: 'forgotten' }])
  expect(out()).toBe('BGP basics (lr-1) will be stopped; it is BOOTED now\n')
  expect(await lcm('start', 'lab', 'lr-1', '-o', 'name')).toBe(0)
  expect(api.requests().at(-1)).toBe('POST /lab-records/lr-1/start')
})

it('waits until it is done', async () => {
  const { lcm, api, clock, labs, out, err } = worker()
  const done = lcm('stop', 'lab', 'lr-1', '--wait')
  await api.stream(1)
  labs.change('lr-1', { status: 'STOPPING' })
  await clock.advance(0)
  labs.change('lr-1', { status: 'STOPPED', pending_action: null })
  expect(await done).toBe(0)
  expect(err()).toContain('BGP basics is STOPPING: stop requested')
  expect(out()).toBe('BGP basics is STOPPED after 0s\n')
})

it('exits with 1 when the action fails, or another user requests another one', async () => {
  const vain = worker()
  const done = vain.lcm('stop', 'lab', 'lr-1', '--wait')
  await vain.api.stream(1)
  vain.labs.change('lr-1', { status: 'ERROR', pending_action: null, last_error: 'stop: it took too long' })
  expect(await done).toBe(1)
  expect(vain.err()).toContain('BGP basics is ERROR: stop: it took too long')
  const other = worker()
  const stopped = other.lcm('stop', 'lab', 'lr-1', '--wait')
  await other.api.stream(1)
  const pending = { by: 'eve', at: '2026-01-01T00:00:00.000Z', attempts: 0, error: null }
  other.labs.change('lr-1', { pending_action: { ...pending, action: 'start' } })
  expect(await stopped).toBe(1)
  expect(other.err()).toContain('has a new pending action: eve requested start')
})

describe('irreversible actions', () => {
  it.each(['wipe', 'delete'])('%s needs the title or --yes', async verb => {
    const noninteractive = worker()
    expect(await noninteractive.lcm(verb, 'lab', 'lr-1')).toBe(2)
    expect(noninteractive.err()).toMatch(/permanently deletes .*: add --yes to confirm/)
    expect(noninteractive.api.bodies()).toEqual([])
    expect(await noninteractive.lcm(verb, 'lab', 'lr-1', '--yes')).toBe(0)
    const wrong = worker({ typed: 'lr-1' })
    expect(await wrong.lcm(verb, 'lab', 'lr-1')).toBe(1)
    expect(wrong.err()).toContain('that is not its title: BGP basics was not changed')
    const right = worker({ typed: 'BGP basics' })
    expect(await right.lcm(verb, 'lab', 'lr-1')).toBe(0)
    expect(right.api.requests().at(-1)).toBe(`POST /lab-records/lr-1/${verb}`)
  })
})

it('succeeds when the record of a deleted lab is gone', async () => {
  const { lcm, api, labs, out } = worker()
  const done = lcm('delete', 'lab', 'lr-1', '--yes', '--wait')
  await api.stream(1)
  labs.remove('lr-1')
  expect(await done).toBe(0)
  expect(out()).toBe('BGP basics deleted after 0s\n')
})

it('exits with 4 while a session uses the lab, with 3 for an unknown lab', async () => {
  const { lcm, api, labs, err } = worker()
  api.sessions.put(aReadySession())
  labs.change('lr-1', { session_id: 'ls-1' })
  expect(await lcm('stop', 'lab', 'lr-1')).toBe(4)
  expect(err()).toBe('error: session ls-1 uses BGP basics; cancel that instead\n')
  expect(await lcm('stop', 'lab', 'none')).toBe(3)
})

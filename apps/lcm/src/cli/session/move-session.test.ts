import { NEVER_SAVED } from '@lcm/domain/session/lablet-session'
import { aSave, aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aReadySession, aSession } from '../testing/resource-builders.ts'

function classroom(session = aReadySession(), typed?: string) {
  const captured = capturedShell(typed === undefined ? {} : { typed })
  captured.api.sessions.put(session)
  return { ...captured, lcm: (...args: string[]) => run(['move', 'session', ...args], captured.shell) }
}

const LOST = 'The lab starts again on another worker, from the beginning. All changes in the lab are lost.'

it('says what is lost, and asks for the id', async () => {
  const wrong = classroom(aReadySession(), 'yes')
  expect(await wrong.lcm('ls-1')).toBe(1)
  expect(wrong.err()).toContain(`${LOST} Type its id to confirm: `)
  expect(wrong.err()).toContain('that is not its id: ls-1 was not changed')
  expect(wrong.api.bodies()).toEqual([])
  const right = classroom(aReadySession(), 'ls-1')
  expect(await right.lcm('ls-1', '--reason', 'CML is silent')).toBe(0)
  expect(right.api.requests().at(-1)).toBe('POST /lablet-sessions/ls-1/move')
  expect(right.api.bodies()).toEqual([{ reason: 'CML is silent' }])
})

it('names the time of the last save', async () => {
  const save = { ...NEVER_SAVED, save_id: 'sv-1' }
  const { lcm, err, api } = classroom(aReadySession({ save }), 'no')
  const stored = { ...aSave({ created_at: '2025-12-31T23:50:00.000Z' }), sealed_key: '', needed_by: [] }
  api.seed(() => api.plane.put('saves', stored))
  await lcm('ls-1')
  expect(err()).toContain('from its last save of 2025-12-31 23:50 UTC (10m ago). Changes since then are lost.')
})

it('says that the work is saved first, and waits for both', async () => {
  const { lcm, api, err, out } = classroom(aReadySession({ status: 'RUNNING', worker_id: 'w-1' }))
  api.put(aServingWorker({ id: 'w-1' }))
  api.definitions.put(aDefinition({ id: aReadySession().definition.id }))
  const done = lcm('ls-1', '--yes', '--wait')
  await api.stream(1)
  expect(err()).toContain('session ls-1 moves to another worker after a last save of its work, within a minute')
  api.sessions.change('ls-1', { status: 'PENDING', worker_id: null, move: null })
  api.sessions.change('ls-1', { status: 'RUNNING', access: aReadySession().access })
  expect(await done).toBe(0)
  expect(out()).toContain('session ls-1 is RUNNING after 0s')
})

it('needs --yes without a terminal, with the same words', async () => {
  const { lcm, err, api } = classroom()
  expect(await lcm('ls-1')).toBe(2)
  expect(err()).toContain(`${LOST.slice(1, -1)}: add --yes to confirm`)
  expect(api.bodies()).toEqual([])
})

it('waits until its lab is ready elsewhere', async () => {
  const { lcm, api, out, err } = classroom(aReadySession({ status: 'RUNNING' }))
  const done = lcm('ls-1', '--yes', '--wait')
  await api.stream(1)
  api.sessions.change('ls-1', { status: 'SCHEDULED', worker_id: 'w-2' })
  api.sessions.change('ls-1', { status: 'RUNNING', access: aReadySession().access })
  expect(await done).toBe(0)
  expect(err()).toContain('session ls-1 moves to another worker; it is PENDING now')
  expect(out()).toContain('session ls-1 is RUNNING after 0s')
})

it('exits with 4 when the API refuses it', async () => {
  const { lcm, err } = classroom(aSession())
  expect(await lcm('ls-1', '--yes')).toBe(4)
  expect(err()).toBe('error: the session has no worker\n')
})

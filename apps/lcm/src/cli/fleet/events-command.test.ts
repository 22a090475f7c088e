import { DecisionRecord } from '@lcm/domain/journal-records'
import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { RETRY_MS } from '../follow-events.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aLab, anInstantiatingSession, aWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

async function following(...args: string[]) {
  const captured = capturedShell()
  captured.api.put(aWorker())
  const done = run(['events', ...args], captured.shell)
  await captured.api.stream(1)
  return { ...captured, done }
}

it('prints a line per change from now on', async () => {
  const { api, clock, interrupt, done, outLines } = await following()
  api.change(ID, { status: 'PROVISIONING' })
  api.remove(ID)
  await clock.advance(0)
  interrupt()
  expect(await done).toBe(0)
  expect(outLines()).toEqual([
    `2026-01-01T00:00:00.000Z  worker.updated      ${ID}  metal-1  PROVISIONING -> RUNNING  ` +
      'waiting for EC2 to report the instance as running',
    `2026-01-01T00:00:00.000Z  worker.deleted      ${ID}`,
  ])
})

it('prints a line for sessions, definitions and labs as well', async () => {
  const { api, clock, interrupt, done, outLines } = await following()
  api.definitions.put(aDefinition())
  api.sessions.put(anInstantiatingSession(4))
  api.labs.put(aLab())
  await clock.advance(0)
  api.labs.remove('lr-1')
  await clock.advance(0)
  interrupt()
  expect(await done).toBe(0)
  expect(outLines().map(line => line.slice(26))).toEqual([
    'definition.created  ld-1  two-routers 1.0.0  ACTIVE',
    'session.created     ls-1  two-routers  INSTANTIATING  step 5 of 7, lab_start',
    'lab.created         lr-1  BGP basics  BOOTED',
    'lab.deleted         lr-1',
  ])
})

it('prints the reason of a decision', async () => {
  const { api, clock, interrupt, done, outLines } = await following()
  const because = textReason('EC2 has no capacity')
  const entry = { id: 'd-1', at: '2026-01-01T00:00:00.000Z', resource: `worker:${ID}`, service: 'worker-controller' }
  const data = DecisionRecord.parse({ ...entry, epoch: 1, action: 'wait', because })
  api.tell({ type: 'decision', id: data.id, at: data.at, data })
  await clock.advance(0)
  interrupt()
  expect(await done).toBe(0)
  expect(outLines()).toEqual([`${data.at}  decision            ${data.resource}  wait: EC2 has no capacity`])
})

it('prints JSON lines for programs', async () => {
  const json = await following('-o', 'json')
  json.api.change(ID, { status: 'STARTING' })
  await json.clock.advance(0)
  json.interrupt()
  await json.done
  expect(JSON.parse(json.out())).toMatchObject({ type: 'worker.updated', data: { status: 'STARTING' } })
  const names = await following('-o', 'name')
  names.api.change(ID, {})
  await names.clock.advance(0)
  names.interrupt()
  await names.done
  expect(names.out()).toBe(`${ID}\n`)
})

it('continues across a restart, and reports it once', async () => {
  const { api, clock, interrupt, done, err, outLines } = await following('-o', 'name')
  api.crash()
  api.change(ID, {})
  await clock.advance(5 * RETRY_MS)
  api.restart()
  await clock.advance(RETRY_MS)
  interrupt()
  expect(await done).toBe(0)
  expect(err()).toBe('event stream interrupted, reconnecting\n')
  expect(outLines()).toEqual([ID])
})

it('ends when its reader is gone', async () => {
  const { shell, api, leaveUnread } = capturedShell()
  const done = run(['events'], shell)
  await api.stream(1)
  leaveUnread()
  expect(await done).toBe(0)
})

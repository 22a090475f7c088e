import { expect, it } from 'vitest'
import { RETRY_MS } from './follow-events.ts'
import { run } from './program.ts'
import { type CapturedOptions, capturedShell } from './testing/captured-shell.ts'
import { aRunningWorker, aWorker } from './testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

async function watching(args: readonly string[], options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  captured.api.put(aWorker())
  captured.api.put(aRunningWorker({ id: 'w-2', name: 'metal-2' }))
  const done = run(['get', 'workers', '--watch', ...args], captured.shell)
  await captured.api.stream(1)
  const end = async () => {
    await captured.clock.advance(0)
    captured.interrupt()
    return done
  }
  return { ...captured, done, end }
}

it('prints the list, then a row per change, in the same columns', async () => {
  const { api, end, outLines } = await watching([])
  api.change(ID, { status: 'PROVISIONING' })
  api.change('w-2', { status: 'TERMINATED', desired_status: 'TERMINATED' })
  api.change('w-2', { tags: { late: 'news' } })
  expect(await end()).toBe(0)
  expect(outLines().map(line => line.slice(0, 64))).toEqual([
    'NAME      ID                STATUS               HEALTH   STAGE ',
    'metal-1   w-0abcdefgh0001   PENDING -> RUNNING   OK       -     ',
    'metal-2   w-2               RUNNING              OK       -     ',
    'metal-1   w-0abcdefgh0001   PROVISIONING -> RUNNING   OK       I',
    'metal-2   w-2               TERMINATED                -        -',
  ])
})

it('continues to show a lost worker', async () => {
  const { api, end, outLines } = await watching([])
  api.change('w-2', { status: 'TERMINATED' })
  api.change('w-2', { tags: { late: 'news' } })
  expect(await end()).toBe(0)
  expect(outLines().filter(line => line.includes('TERMINATED (lost)'))).toHaveLength(2)
})

it('prints the table header with the first row, so that the columns align', async () => {
  const { shell, api, clock, interrupt, outLines } = capturedShell()
  const done = run(['get', 'workers', '--watch'], shell)
  await api.stream(1)
  expect(outLines()).toEqual([])
  api.put(aWorker())
  await clock.advance(0)
  interrupt()
  expect(await done).toBe(0)
  expect(outLines().map(line => line.slice(0, 31))).toEqual([
    'NAME      ID                STA',
    'metal-1   w-0abcdefgh0001   PEN',
  ])
})

it('prints a JSON document per change for programs', async () => {
  const { api, end, outLines } = await watching(['-o', 'json'])
  api.change(ID, { status: 'PROVISIONING' })
  await end()
  expect(outLines().map(line => JSON.parse(line).status)).toEqual(['PENDING', 'RUNNING', 'PROVISIONING'])
})

it('prints names and YAML documents as well', async () => {
  const names = await watching(['-o', 'name'])
  await names.end()
  expect(names.outLines()).toEqual(['metal-1', 'metal-2'])
  const yaml = await watching(['-o', 'yaml'])
  await yaml.end()
  expect(yaml.outLines().filter(line => line === '---')).toHaveLength(2)
})

it('draws one live table on a terminal', async () => {
  const { api, clock, end, out } = await watching([], { isTty: true })
  const first = out()
  await clock.advance(500)
  expect(out()).toBe(first)
  api.change(ID, { status: 'FAILED' })
  await clock.advance(500)
  const second = out().slice(first.length)
  expect(second).toContain('\u001b[3A\r')
  expect(second).toContain('\u001b[31mFAILED -> RUNNING\u001b[39m')
  api.remove('w-2')
  await clock.advance(500)
  expect(out().slice(first.length + second.length)).not.toContain('metal-2')
  expect(await end()).toBe(0)
})

it('shows all rows on a terminal of unknown height', async () => {
  const { end, out } = await watching([], { isTty: true, rows: 0 })
  await end()
  expect(out()).not.toContain('more')
  expect(out()).toContain('metal-2')
})

it('shows as many rows as fit', async () => {
  const { end, out } = await watching([], { isTty: true, rows: 5 })
  await end()
  expect(out()).toContain('… and 1 more')
  expect(out()).not.toContain('metal-2')
})

it('reports that the API is unreachable, and catches up when it is back', async () => {
  const { api, clock, end, err, outLines } = await watching([])
  api.crash()
  api.remove('w-2')
  api.change(ID, { status: 'STARTING' })
  await clock.advance(5 * RETRY_MS)
  api.restart()
  await clock.advance(RETRY_MS)
  await end()
  expect(err()).toBe('API unreachable, retrying\n')
  expect(outLines().filter(line => line.includes('STARTING'))).toHaveLength(1)
})

it('shows the same on a terminal', async () => {
  const { api, clock, end, out } = await watching([], { isTty: true })
  api.crash()
  await clock.advance(2 * RETRY_MS)
  expect(out()).toContain('API unreachable, retrying')
  api.restart()
  await clock.advance(2 * RETRY_MS)
  expect(out().split('\r').at(-1)).not.toContain('API unreachable, retrying')
  await end()
})

it('reads the list again when the event log was truncated meanwhile', async () => {
  const { api, clock, end, out } = await watching([], { isTty: true })
  api.crash()
  api.remove('w-2')
  api.compact()
  api.restart()
  await clock.advance(3 * RETRY_MS)
  expect(out().split('\r').at(-1)).toContain('metal-1')
  expect(out().split('\r').at(-1)).not.toContain('metal-2')
  await end()
})

it('accepts older versions after a reset', async () => {
  const { api, clock, end, outLines } = await watching([])
  for (const status of ['PROVISIONING', 'STARTING'] as const) api.change(ID, { status })
  await clock.advance(0)
  api.crash()
  api.put(aWorker())
  api.compact()
  api.restart()
  await clock.advance(3 * RETRY_MS)
  api.change(ID, { status: 'PROVISIONING' })
  await end()
  const statuses = outLines().flatMap(line => /metal-1 +\S+ +(\w+)/.exec(line)?.[1] ?? [])
  expect(statuses).toEqual(['PENDING', 'PROVISIONING', 'STARTING', 'PENDING', 'PROVISIONING'])
})

it('watches one worker until its record is deleted', async () => {
  const captured = capturedShell()
  captured.api.put(aWorker())
  captured.api.put(aWorker({ id: 'w-2', name: 'metal-2' }))
  const done = run(['get', 'worker', 'metal-1', '-w', '-o', 'name'], captured.shell)
  await captured.api.stream(1)
  captured.api.change('w-2', { status: 'STARTING' })
  captured.api.change(ID, { status: 'TERMINATED' })
  await captured.clock.advance(0)
  captured.api.remove(ID)
  expect(await done).toBe(3)
  expect(captured.outLines()).toEqual(['metal-1', 'metal-1'])
  expect(captured.err()).toBe(`error: worker ${ID} was deleted\n`)
})

it('ends cleanly when its reader is gone, even during a list request', async () => {
  const { leaveUnread, done, err } = await watching([])
  leaveUnread()
  expect(await done).toBe(0)
  const watch = await watching([])
  watch.api.compact()
  watch.clock.advance(RETRY_MS)
  watch.leaveUnread()
  expect(await watch.done).toBe(0)
  expect(err() + watch.err()).toBe('')
})

it('fails at once when there is nothing to watch', async () => {
  const { shell, api, err } = capturedShell()
  api.crash()
  expect(await run(['get', 'workers', '--watch'], shell)).toBe(6)
  expect(err()).toContain('LCM does not respond')
})

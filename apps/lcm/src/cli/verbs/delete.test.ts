import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aSession, aWorker } from '../testing/resource-builders.ts'

it('deletes the record of a TERMINATED worker', async () => {
  const { shell, api, out } = capturedShell()
  api.put(aWorker({ status: 'TERMINATED' }))
  expect(await run(['delete', 'worker', 'metal-1'], shell)).toBe(0)
  expect(out()).toBe('record of metal-1 (w-0abcdefgh0001) deleted\n')
  expect(await run(['delete', 'worker', 'metal-1'], shell)).toBe(3)
})

it('exits with 4 while the worker is not TERMINATED', async () => {
  const { shell, api, err } = capturedShell()
  api.put(aWorker())
  expect(await run(['delete', 'worker', 'metal-1'], shell)).toBe(4)
  expect(err()).toBe('error: metal-1 is PENDING; terminate it first\n')
})

it('deletes a definition that no session uses', async () => {
  const { shell, api, out, err } = capturedShell()
  const { definitions, sessions } = api
  definitions.put(aDefinition())
  sessions.put(aSession())
  expect(await run(['delete', 'definition', 'two-routers'], shell)).toBe(4)
  expect(err()).toContain('session ls-1 needs two-routers')
  sessions.change('ls-1', { status: 'ARCHIVED' })
  expect(await run(['delete', 'definition', 'two-routers'], shell)).toBe(0)
  expect(out()).toBe('definition two-routers 1.0.0 (ld-1) deleted\n')
})

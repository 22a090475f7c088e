import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/resource-builders.ts'

const ID = 'w-0abcdefgh0001'

it.each([
  ['protect', { protected: true }, 'protected from termination'],
  ['unprotect', { protected: false }, 'unprotected: it can be terminated'],
  ['cordon', { cordoned: true }, 'cordoned: it gets no new sessions'],
  ['uncordon', { cordoned: false }, 'uncordoned: it gets new sessions'],
])('%s marks a worker, and reports when it was already marked', async (verb, change, state) => {
  const { shell, api, outLines } = capturedShell()
  const [name, value] = Object.entries(change)[0] ?? []
  api.put(aRunningWorker({ [String(name)]: !value }))
  expect(await run([verb, 'worker', 'metal-1'], shell)).toBe(0)
  expect(api.requests().at(-1)).toBe(`PATCH /workers/${ID}`)
  expect(api.bodies().at(-1)).toEqual(change)
  expect(await run([verb, 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()).toEqual([`metal-1 (${ID}) is ${state}`, `metal-1 (${ID}) is already ${state}`])
})

it('prints the worker for programs, and nothing when quiet', async () => {
  const { shell, api, out } = capturedShell()
  api.put(aRunningWorker())
  expect(await run(['protect', 'worker', 'metal-1', '-q'], shell)).toBe(0)
  expect(out()).toBe('')
  await run(['protect', 'worker', 'metal-1', '-o', 'json'], shell)
  expect(JSON.parse(out())).toMatchObject({ name: 'metal-1', protected: true })
})

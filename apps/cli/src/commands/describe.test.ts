import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker } from '../testing/samples.ts'

it('describes a worker by name', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(aRunningWorker())
  expect(await run(['describe', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()[0]).toBe('metal-1  w-0abcdefgh0001')
  expect(outLines()).toContain('Boot stages')
})

it('exits with 3 for a worker that is not there', async () => {
  expect(await run(['describe', 'worker', 'metal-9'], capturedShell().shell)).toBe(3)
})

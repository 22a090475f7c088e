import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

it('resets the term of a service', async () => {
  const { shell, out } = capturedShell()
  expect(await run(['services', 'reset-term', 'worker-controller'], shell)).toBe(0)
  expect(out()).toContain('the term of worker-controller is reset')
})

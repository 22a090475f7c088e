import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition } from '../testing/resource-builders.ts'

it('deprecates a definition with a reason', async () => {
  const { shell, api, out } = capturedShell()
  api.definitions.put(aDefinition())
  expect(await run(['deprecate', 'definition', 'two-routers', '--reason', 'old'], shell)).toBe(0)
  expect(out()).toBe('definition two-routers 1.0.0 (ld-1) is DEPRECATED\n')
  expect(api.bodies()).toEqual([{ reason: 'old' }])
  expect(await run(['deprecate', 'definition', 'none'], shell)).toBe(3)
})

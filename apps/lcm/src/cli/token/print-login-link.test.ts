import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

it('prints only a login link on standard output', async () => {
  const { shell, out, err } = capturedShell()
  expect(await run(['open'], shell)).toBe(0)
  expect(out()).toMatch(/^http:\/\/127\.0\.0\.1:8080\/#\/sign-in\?code=[\w-]{20,}\n$/)
  expect(err()).toBe('Open it in a browser within 10m. The link works once.\n')
})

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { run } from './program.ts'
import { capturedShell } from './testing/captured-shell.ts'

const PAGE = new URL('../../../../docs/reference/cli.md', import.meta.url)

it('equals docs/reference/cli.md, which `npm run docs` generates', async () => {
  const { shell, out } = capturedShell()
  expect(await run(['__reference'], shell)).toBe(0)
  expect(out()).toContain('### `lcm create worker`')
  expect(out()).toContain('| `--dry-run` |')
  expect(out()).not.toContain('__complete')
  expect(readFileSync(PAGE, 'utf8')).toBe(out())
})

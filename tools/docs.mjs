// Writes the pages of the documentation that are made from the code: `npm run docs`.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureReady, root } from './setup.mjs'

const PAGE = 'docs/reference/cli.md'

await ensureReady()
const { stdout, status } = spawnSync(process.execPath, [join(root, 'dist', 'lcm.mjs'), '__reference'], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
})
if (status === 0) {
  writeFileSync(join(root, PAGE), stdout)
  console.log(`wrote ${PAGE}`)
}
const reasons = spawnSync(process.execPath, ['--import', 'tsx', join(root, 'tools', 'docs', 'write-pages.ts')], {
  stdio: 'inherit',
})
process.exitCode = status || reasons.status || 0

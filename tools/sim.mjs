// `npm run sim -- --seed N --hours H --workers W`: one run of the whole system on virtual time; simulation/virtual/main.ts has further
// options. The last line is the count as JSON.
import { spawnSync } from 'node:child_process'
import { ensureReady, root } from './setup.mjs'

await ensureReady()
// Needs what was only just installed.
const { simulationCommand } = await import('./bundles/simulation-bundle.mjs')
const command = await simulationCommand(...process.argv.slice(2))
const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1

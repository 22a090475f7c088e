// `npm run sim -- --seed N --hours H --workers W`: one run of the whole system on virtual time; simulation/main.ts says what else
// can be asked for. The last line is the count as JSON.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureReady, root } from './setup.mjs'

// What a virtual second leaves behind is garbage at once: a large nursery spares most of the collector's work.
const SIMULATION = ['--max-semi-space-size=64', '--import', 'tsx', join(root, 'simulation/main.ts')]

await ensureReady()
const command = [...SIMULATION, ...process.argv.slice(2)]
const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1

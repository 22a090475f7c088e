// `npm run sim -- --seed N`: replays one random run of workers; `--runs N --from N` makes many, `--sessions N [--large]` runs with
// sessions (`--large`: a thousand on two hundred workers), `--crashes N` crashes
// controllers before and after every port call for so many seeds. The last line is the count as JSON.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureReady, root } from './setup.mjs'

await ensureReady()
const command = ['--import', 'tsx', join(root, 'simulation/main.ts'), ...process.argv.slice(2)]
const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1

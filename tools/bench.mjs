// `npm run bench`: every bench/*.ts, one after another so that they don't disturb each other; or only those named.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureReady, root } from './setup.mjs'

const folder = join(root, 'bench')
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map(file => file.slice(0, -'.ts'.length))
  .sort()
const asked = process.argv.slice(2)
const unknown = asked.filter(name => !names.includes(name))
if (unknown.length > 0) {
  console.error(`bench: there is no ${unknown.join(', ')}; there is ${names.join(', ') || 'nothing yet'}.`)
  process.exit(1)
}

await ensureReady()
for (const name of asked.length > 0 ? asked : names) {
  console.log(`\n== ${name}`)
  const args = ['--expose-gc', '--import', 'tsx', join(folder, `${name}.ts`)]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`bench: ${name} ended with ${status ?? 'a signal'}.`)
    process.exitCode = 1
  }
}

// `npm run bench`: runs every bench except the long ones, one after another so that they don't disturb each other; or only
// the named ones. Options after a name go to it: `npm run bench -- soak --minutes 5` is a trial and is not recorded.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { basename, join } from 'node:path'
import { commitNow } from './current-commit.mjs'
import { ensureReady, root, writeJson } from './setup.mjs'

// The SDK's notice on Node versions has no place in the output of a figure.
const env = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...process.env }
/** Run only when they are named. */
const LONG = ['chaos', 'economy-world', 'lab-return', 'soak']

const folder = join(root, 'bench')
const resultsFile = join(folder, 'results.json')
const figures = join(folder, 'figures')
/** The file of each figure, by its name. */
const files = new Map(
  readdirSync(figures).flatMap(group =>
    readdirSync(join(figures, group)).map(file => [basename(file, '.ts'), join(figures, group, file)]),
  ),
)
const names = [...files.keys()].sort()
const given = process.argv.slice(2)
const firstOption = given.findIndex(word => word.startsWith('-'))
const [selected, options] = firstOption < 0 ? [given, []] : [given.slice(0, firstOption), given.slice(firstOption)]
const unknown = selected.filter(name => !names.includes(name))
if (unknown.length > 0 || (options.length > 0 && selected.length !== 1)) {
  const why =
    unknown.length > 0 ? `unknown figure ${unknown.join(', ')}` : 'options need the name of one figure before them'
  console.error(`bench: ${why}. Choose from ${names.join(', ')}.`)
  process.exit(1)
}

await ensureReady()
for (const name of selected.length > 0 ? selected : names.filter(each => !LONG.includes(each))) {
  console.log(`\n== ${name}`)
  const about = { at: new Date().toISOString(), ...machine() }
  const startedAt = Date.now()
  const { status, lastLine } = await run(name)
  if (status !== 0) {
    console.error(`bench: ${name} ended with ${status ?? 'a signal'}.`)
    process.exitCode = 1
  }
  if (options.length === 0)
    record(name, { ...about, seconds: (Date.now() - startedAt) / 1000, report: parsed(lastLine) })
}

/** Passes its output on. */
function run(name) {
  const args = ['--expose-gc', '--import', 'tsx', files.get(name), ...options]
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
    process.stdout.write(text)
  })
  return new Promise(resolve => {
    child.on('close', status => resolve({ status, lastLine: output.trimEnd().split('\n').at(-1) }))
  })
}

function machine() {
  return { node: process.versions.node, cores: cpus().length, load_average: loadavg()[0], commit: commitNow() }
}

function parsed(line) {
  try {
    const report = JSON.parse(line)
    return Array.isArray(report.figures) ? report : null
  } catch {
    return null
  }
}

/** Saves after each bench, so that an interrupted run keeps its results. */
function record(name, result) {
  const before = existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}
  const kept = Object.entries({ ...before, [name]: result }).filter(([each]) => names.includes(each))
  writeJson(resultsFile, Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))))
  spawnSync(process.execPath, ['--import', 'tsx', join(folder, 'report/write-results.ts')], {
    cwd: root,
    stdio: 'inherit',
  })
}

// `npm test`: set up, then lint, types and every suite. Ends with one line, `N passed, N failed`.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureEtcd } from './etcd.mjs'
import { binOf, cache, ensureReady, root, run } from './setup.mjs'

/** Suites that talk to servers which are not ours to install with npm. */
const SERVER_SUITES = ['**/*.etcd.test.ts', '**/*.e2e.test.ts']
const TYPE_PROJECTS = ['tsconfig.json', 'apps/console/tsconfig.json']
const REPORT = join(cache, 'vitest.json')

const startedAt = Date.now()
const args = process.argv.slice(2)
const unitOnly = args.includes('--unit')
const passedOn = args.filter(arg => arg !== '--unit')

await ensureReady()
if (!unitOnly) {
  await ensureEtcd().catch(error => {
    console.error(`${error.message} Or run what needs no server: npm run test:unit`)
    process.exit(1)
  })
}
const results = [await lint(), await types(), await suites()]
const total = key => results.reduce((sum, result) => sum + result[key], 0)

console.log(`took ${seconds(startedAt)}`)
console.log(`${total('passed')} passed, ${total('failed')} failed`)
process.exitCode = total('failed') === 0 ? 0 : 1

async function lint() {
  return check('lint', [[binOf('@biomejs/biome', 'biome'), 'check', '.']])
}

async function types() {
  const tsc = binOf('typescript', 'tsc')
  return check(
    'types',
    TYPE_PROJECTS.map(project => [tsc, '-p', project, '--noEmit']),
  )
}

/** Counts as one test, however many commands it takes. Speaks only when one of them fails. */
async function check(title, commands) {
  const checkedAt = Date.now()
  const runs = await Promise.all(commands.map(command => run(process.execPath, command)))
  const failed = runs.filter(({ code }) => code !== 0)
  for (const { output } of failed) console.log(output.trimEnd())
  console.log(`${failed.length === 0 ? 'ok' : 'FAILED'}  ${title} (${seconds(checkedAt)})`)
  return failed.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
}

async function suites() {
  mkdirSync(cache, { recursive: true })
  rmSync(REPORT, { force: true })
  const code = await watched([
    binOf('vitest'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${REPORT}`,
    ...(unitOnly ? SERVER_SUITES.map(suite => `--exclude=${suite}`) : []),
    ...passedOn,
  ])
  const { passed, failed } = readReport()
  // A run can fail with no failing test: a file that can't be loaded, an unhandled error, a crash.
  return { passed, failed: code === 0 ? failed : Math.max(1, failed) }
}

function readReport() {
  try {
    const { numPassedTests, testResults } = JSON.parse(readFileSync(REPORT, 'utf8'))
    return { passed: numPassedTests, failed: testResults.reduce((sum, file) => sum + failuresOf(file), 0) }
  } catch (error) {
    if (error.code === 'ENOENT') return { passed: 0, failed: 1 }
    throw error
  }
}

/** A file that fails as a whole holds no failing test and counts as one. */
function failuresOf({ status, assertionResults }) {
  const failed = assertionResults.filter(test => test.status === 'failed').length
  return status === 'failed' ? Math.max(1, failed) : failed
}

/** Resolves with the exit code of a Node script whose output is shown as it comes. */
function watched(command) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', code => resolve(code ?? 1))
  })
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}

// Runs vitest and counts what it found, for every command that ends with the line `N passed, N failed`.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { binOf, cache, root, run } from './setup.mjs'

/** Suites of judges that are not ours: `npm run test:interop` hears them. */
export const INTEROP_SUITES = ['**/*.mongo.test.ts', '**/*.moto.test.ts']

/** Resolves with `{ passed, failed }`; the output is shown as it comes, or at the end where another run is shown meanwhile. */
export async function runSuites(name, args, { isShownLater = false } = {}) {
  const report = join(cache, `${name}.json`)
  mkdirSync(cache, { recursive: true })
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const command = [binOf('vitest'), 'run', ...reporters, ...args]
  const code = isShownLater ? await shownLater(command) : await watched(command)
  const { passed, failed } = readReport(report)
  // A run can fail with no failing test: a file that can't be loaded, an unhandled error, a crash.
  return { passed, failed: code === 0 ? failed : Math.max(1, failed) }
}

function readReport(report) {
  try {
    const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
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

async function shownLater(command) {
  const { code, output } = await run(process.execPath, command)
  process.stdout.write(output)
  return code
}

/** The last line of every run, and its exit code. */
export function concluded(results, startedAt) {
  const total = key => results.reduce((sum, result) => sum + result[key], 0)
  console.log(`took ${seconds(startedAt)}`)
  console.log(`${total('passed')} passed, ${total('failed')} failed`)
  process.exitCode = total('failed') === 0 ? 0 : 1
}

export function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}

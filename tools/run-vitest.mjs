// Runs vitest and counts what it found, for every command that ends with the line `N passed, N failed`.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { binOf, cache, root, run } from './setup.mjs'

/**
 * Resolves with `{ passed, failed }`. The output is shown as it comes, or at the end where another run is shown meanwhile. A
 * polite run leaves the cores to other processes that need them.
 */
export async function runVitest(name, args, { isShownLater = false, isPolite = false } = {}) {
  const report = join(cache, `${name}.json`)
  mkdirSync(cache, { recursive: true })
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const command = [binOf('vitest'), 'run', ...reporters, ...args]
  const code = isShownLater ? await shownLater(command) : await watched(command, isPolite)
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

/** Resolves with the exit code of a Node script whose output is shown as it comes; logs follow at the end. */
function watched(command, isPolite) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['inherit', 'inherit', 'pipe'] })
    if (isPolite && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    const logs = []
    const lines = createInterface({ input: child.stderr })
    lines.on('line', line => (isLog(line) ? logs.push(line) : process.stderr.write(`${line}\n`)))
    child.on('error', reject)
    child.on('close', code => {
      if (code !== 0)
        process.stderr.write(
          logs
            .slice(-LOGS_SHOWN_MAX)
            .map(line => `${line}\n`)
            .join(''),
        )
      resolve(code ?? 1)
    })
  })
}

async function shownLater(command) {
  const { code, output } = await run(process.execPath, command)
  process.stdout.write(code === 0 ? withoutLogs(output) : output)
  return code
}

/** Processes of the product that tests start log to the same stream. Their logs matter only when a test fails. */
const isLog = line => line.startsWith('{"level":')
const LOGS_SHOWN_MAX = 200

const withoutLogs = output =>
  output
    .split('\n')
    .filter(line => !isLog(line))
    .join('\n')

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

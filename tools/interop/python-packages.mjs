// Fetches judges that are written in Python into the cache folder, each with packages of its own. Plain Node.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cache, run } from '../setup.mjs'

const PIP_INSTALL = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--timeout=15', '--retries=1']

/** Resolves with a Python that has these packages, such as `schemathesis==4.32.5`. Rejects with one sentence. */
export async function ensurePython(name, packages) {
  const hash = createHash('sha256').update(packages.join('\n')).digest('hex').slice(0, 12)
  const folder = join(cache, `${name}-${hash}`)
  if (!existsSync(folder)) await install(folder, packages)
  return join(folder, 'bin', 'python')
}

/** Installs beside and swaps, so that the folder is there whole or not at all. */
async function install(folder, packages) {
  mkdirSync(cache, { recursive: true })
  const beside = mkdtempSync(`${folder}.`)
  try {
    await step('python3', ['-m', 'venv', beside])
    await step(join(beside, 'bin', 'python'), [...PIP_INSTALL, ...packages])
    renameSync(beside, folder)
  } catch (error) {
    rmSync(beside, { recursive: true, force: true })
    // Another process may have installed it at the same time.
    if (!existsSync(folder)) throw error
  }
}

async function step(command, args) {
  const { code, output } = await run(command, args).catch(error => ({ code: 1, output: error.message }))
  if (code === 0) return
  const last = output.trim().split('\n').at(-1)
  throw new Error(`it takes python3 with venv, and PyPI within reach (${last}).`)
}

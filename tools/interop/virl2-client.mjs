// Has the official Python client of CML judge the simulated one over TLS, from the login to the license. Plain Node.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { seconds } from '../run-vitest.mjs'
import { root } from '../setup.mjs'
import { ensurePython } from './python-packages.mjs'

/** Clients of the release that the simulator reports, and of the next one. */
const RELEASES = ['2.9.1', '2.10.1']
/** All that it loads, so that it judges the same everywhere. */
const DEPENDENCIES = [
  'anyio==4.16.0',
  'certifi==2026.10.18',
  'h11==0.16.0',
  'httpcore==1.0.9',
  'httpx==0.28.1',
  'idna==3.20',
  'typing_extensions==4.16.0',
]
/** It takes a few seconds. */
const LIFE_MS_MAX = 120_000
/** Writes no files, and suppresses deprecation warnings of newer clients. */
const PYTHON_OPTIONS = ['-B', '-W', 'ignore::DeprecationWarning']
const COUNTS = /^(\d+) passed, (\d+) failed$/m

/** Resolves with a Python for each release of the client. Rejects with one sentence. */
export async function ensureVirl2Client() {
  const fetched = []
  for (const release of RELEASES) {
    const python = await ensurePython('virl2_client', [`virl2_client==${release}`, ...DEPENDENCIES])
    fetched.push({ release, python })
  }
  return fetched
}

/** Each check of a client counts as one test. */
export async function judgeLabs(clients) {
  const results = []
  for (const client of clients) results.push(await judged(client))
  const total = key => results.reduce((sum, result) => sum + result[key], 0)
  return { passed: total('passed'), failed: total('failed') }
}

/** Every release finds a server as fresh as the other did. */
async function judged({ release, python }) {
  const startedAt = Date.now()
  const simulator = started(process.execPath, ['--import', 'tsx', tool('serve-simulated-cml.ts')])
  try {
    const machine = await simulator.firstLine
    const env = { CML_MACHINE: machine, NO_PROXY: '*' }
    const client = started(python, [...PYTHON_OPTIONS, tool('labs.py')], env)
    client.lines.on('line', line => COUNTS.test(line) || console.log(line))
    const { code, output } = await client.ended
    const [counts, passed, failed] = COUNTS.exec(output) ?? []
    if (counts === undefined) throw new Error(`it ended with ${code} before it was through`)
    console.log(`${code === 0 ? 'ok' : 'FAILED'}  virl2_client ${release} (${seconds(startedAt)}) ${counts}`)
    return { passed: Number(passed), failed: Number(failed) }
  } catch (error) {
    console.log(`FAILED  virl2_client ${release} (${seconds(startedAt)}): ${error.message}.`)
    return { passed: 0, failed: 1 }
  } finally {
    simulator.child.kill()
    await simulator.ended.catch(() => undefined)
  }
}

const tool = name => join(root, 'tools', 'interop', name)

/** The simulator ends with its input, so it never outlives this process, and the client has nothing to ask without it. */
function started(command, args, env = {}) {
  const stdio = ['pipe', 'pipe', 'inherit']
  const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, stdio, timeout: LIFE_MS_MAX })
  const lines = createInterface({ input: child.stdout })
  let output = ''
  lines.on('line', line => {
    output += `${line}\n`
  })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, output }))
  })
  const firstLine = new Promise((resolve, reject) => {
    lines.once('line', resolve)
    ended.then(({ code }) => reject(new Error(`${args.at(-1)} ended with ${code} before it was ready`)), reject)
  })
  // The rejection reaches the caller that awaits the first line.
  firstLine.catch(() => undefined)
  return { child, lines, ended, firstLine }
}

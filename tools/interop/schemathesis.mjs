// Has schemathesis judge the API of real processes, once as each role, by the OpenAPI document that they serve. Plain Node.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../setup.mjs'
import { seconds } from '../suites.mjs'
import { ensurePython } from './python-packages.mjs'

/** The same versions and the same seed find the same things. */
const PINNED = ['schemathesis==4.32.5', 'hypothesis==6.170.15']
const SEED = process.env.INTEROP_SEED ?? '1'
/** Generated requests for each operation, besides those that cover its schema. */
const EXAMPLES = process.env.INTEROP_EXAMPLES ?? '10'
const AT_ONCE = 2
const START_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const RUN_MS_MAX = 60 * 60_000
const TAIL_LINES = 20

/** Roles that are refused most operations need only a few examples of each. */
const BRIEFLY = '--phases=examples,fuzzing'
const RUNS = [
  { role: 'admin' },
  { role: 'operator', prepare: reportLeak },
  { role: 'controller', service: 'worker-controller', prepare: takeOver },
  { role: 'controller', service: 'resource-scheduler', prepare: takeOver },
  { role: 'controller', service: 'lablet-controller', options: [BRIEFLY] },
  { role: 'author', options: [BRIEFLY] },
  { role: 'user', options: [BRIEFLY] },
]
/** Elsewhere there is one loopback address, which many wrong tokens would shut out (see hooks.py). */
const OPTIONS = process.platform === 'linux' ? [] : ['--exclude-checks=ignored_auth']

const TERM = { epoch: 1_000_000, instance_id: 'schemathesis' }
const LEAK = { worker_id: 'w-gone', udi: null, hostname: null, product: null, reason: 'the machine was lost' }

/** Ended and removed when this process ends, however that comes about. */
const children = new Set()
const folders = new Set()

/** Resolves with the Python that has schemathesis. Rejects with one sentence. */
export function ensureSchemathesis() {
  return ensurePython('schemathesis', PINNED)
}

/** Each role has a world of its own, so that none spoils another's. Counts as one test each. */
export async function judgeApi(python) {
  process.once('exit', cleanUp)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const waiting = [...RUNS]
  const results = []
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await judged(python, next))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { passed: results.filter(Boolean).length, failed: results.filter(passed => !passed).length }
}

function cleanUp() {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

async function judged(python, run) {
  const startedAt = Date.now()
  const folder = mkdtempSync(join(tmpdir(), 'lcm-interop-'))
  folders.add(folder)
  const findings = await findingsOf(python, run, folder).catch(error => ({ problem: error.message }))
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
  const { problem, summary = '' } = findings
  if (problem !== undefined) console.log(problem)
  const verdict = problem === undefined ? 'ok' : 'FAILED'
  console.log(`${verdict}  schemathesis as ${run.service ?? run.role} (${seconds(startedAt)}) ${summary}`)
  return problem === undefined
}

async function findingsOf(python, run, folder) {
  const world = await startWorld(join(folder, 'data'))
  try {
    const token = run.role === 'admin' ? world.adminToken : await newToken(world, run)
    await run.prepare?.(world, { ...run, token })
    const { code, output } = await ask(python, { ...run, token, url: world.url, folder })
    const [summary = ''] = /\d+ generated.*/.exec(output) ?? []
    if (world.ended()) return { problem: `lcm up ended under it; the last lines of its log:\n${world.lastWords()}` }
    if (code === 0 && summary !== '') return { summary }
    return { problem: output.slice(Math.max(0, output.search(/^=+ (ERRORS|FAILURES) =+$/m))), summary }
  } finally {
    await world.stop()
  }
}

function ask(python, { role, service, token, url, folder, options = [] }) {
  const env = {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONPATH: join(root, 'tools', 'interop'),
    SCHEMATHESIS_HOOKS: 'hooks',
    NO_PROXY: '127.0.0.1',
    LCM_TOKEN: token,
    LCM_ROLE: role,
    LCM_SERVICE: service ?? '',
    LCM_EPOCH: String(TERM.epoch),
  }
  const config = ['--config-file', join(root, 'tools', 'interop', 'schemathesis.toml')]
  const limits = [`--seed=${SEED}`, `--max-examples=${EXAMPLES}`, '--no-color', ...OPTIONS, ...options]
  const args = ['-m', 'schemathesis.cli', ...config, 'run', `${url}/api/v1/openapi.json`, ...limits]
  const { child, ended } = started(python, args, { cwd: folder, env, timeout: RUN_MS_MAX })
  let output = ''
  const collect = chunk => {
    output += chunk
  }
  child.stdout.setEncoding('utf8').on('data', collect)
  child.stderr.setEncoding('utf8').on('data', collect)
  return ended.then(code => ({ code, output }))
}

/** A whole LCM on a simulated cloud, as `npm start` runs it. */
async function startWorld(data) {
  const command = [
    join(root, 'dist', 'lcm.mjs'),
    'up',
    '--cloud',
    'sim',
    '--port',
    '0',
    '--speed',
    '600',
    '--data',
    data,
  ]
  const { child, ended } = started(process.execPath, command, { cwd: root, env: process.env })
  const said = []
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', text => said.push(...text.split('\n').filter(Boolean)))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  const lastWords = () => said.slice(-TAIL_LINES).join('\n')
  for (const startedAt = Date.now(); !(await isReady(data)); await sleep(50)) {
    if (!isOver() && Date.now() - startedAt < START_MS_MAX) continue
    child.kill('SIGKILL')
    throw new Error(`lcm up did not start; the last lines of its log:\n${lastWords()}`)
  }
  return {
    url: urlIn(data),
    adminToken: readFileSync(join(data, 'admin-token'), 'utf8').trim(),
    ended: isOver,
    lastWords,
    async stop() {
      child.kill('SIGTERM')
      const tooLate = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await ended
      clearTimeout(tooLate)
    },
  }
}

function urlIn(data) {
  const { api } = JSON.parse(readFileSync(join(data, 'endpoints.json'), 'utf8'))
  return api.replace('localhost', '127.0.0.1')
}

async function isReady(data) {
  try {
    return (await fetch(`${urlIn(data)}/ready`)).ok
  } catch {
    return false
  }
}

function started(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve(code ?? 1))
  }).finally(() => children.delete(child))
  return { child, ended }
}

async function call(world, token, [method, path], { body, headers = {} }) {
  const response = await fetch(`${world.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path} was refused: ${answer.detail}`)
  return answer
}

async function newToken(world, { role, service }) {
  const { secret } = await call(world, world.adminToken, ['POST', '/tokens'], {
    body: { name: 'judge', role, service },
  })
  return secret
}

/** Only the newest leader may write, so the one that runs in the world is sent away. */
async function takeOver(world, { service, token }) {
  await call(world, token, ['PUT', `/services/${service}/term`], { body: TERM })
}

/** Something that only a controller can make, for operators to find. */
async function reportLeak(world) {
  const controller = { role: 'controller', service: 'worker-controller' }
  const token = await newToken(world, controller)
  await takeOver(world, { ...controller, token })
  const headers = { 'lcm-epoch': String(TERM.epoch) }
  await call(world, token, ['POST', '/license-leaks'], { body: LEAK, headers })
}

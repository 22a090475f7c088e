// Starts the built product on the simulated cloud, as `npm start` does, for judges that call a running API. Plain Node.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../setup.mjs'

const START_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const TAIL_LINES = 20

/** Killed and removed when this process ends. */
const children = new Set()
const folders = new Set()
let isCleaning = false

function cleanUpAtExit() {
  if (isCleaning) return
  isCleaning = true
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL')
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}

/** Resolves with the result of `use`, then removes the folder. */
export async function withTemporaryFolder(use) {
  cleanUpAtExit()
  const folder = mkdtempSync(join(tmpdir(), 'lcm-interop-'))
  folders.add(folder)
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    folders.delete(folder)
  }
}

/** A child process that ends with this one. `ended` resolves with its exit code. */
export function startChild(command, args, options) {
  cleanUpAtExit()
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve(code ?? 1))
  }).finally(() => children.delete(child))
  return { child, ended }
}

/** Resolves with the exit code and all output of a command. */
export async function outputOf(command, args, options) {
  const { child, ended } = startChild(command, args, options)
  let output = ''
  const collect = chunk => {
    output += chunk
  }
  child.stdout.setEncoding('utf8').on('data', collect)
  child.stderr.setEncoding('utf8').on('data', collect)
  const code = await ended.catch(error => {
    output += error.message
    return 1
  })
  return { code, output }
}

/** A whole LCM on a free port. Rejects with its last log lines if it does not start. */
export async function startProduct(data) {
  const options = ['--cloud', 'sim', '--port', '0', '--speed', '600', '--data', data]
  const command = [join(root, 'dist', 'lcm.mjs'), 'up', ...options]
  const { child, ended } = startChild(process.execPath, command, { cwd: root, env: process.env })
  const log = []
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', text => log.push(...text.split('\n').filter(Boolean)))
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const lastLines = () => log.slice(-TAIL_LINES).join('\n')
  for (const startedAt = Date.now(); !(await isReady(data)); await sleep(50)) {
    if (!hasEnded() && Date.now() - startedAt < START_MS_MAX) continue
    child.kill('SIGKILL')
    throw new Error(`lcm up did not start. Its last log lines:\n${lastLines()}`)
  }
  return {
    url: urlIn(data),
    adminToken: readFileSync(join(data, 'admin-token'), 'utf8').trim(),
    hasEnded,
    lastLines,
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

/** Calls the API of a running product. Rejects if it refuses. */
export async function callProduct(product, token, [method, path], { body, headers = {} } = {}) {
  const response = await fetch(`${product.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path} was refused: ${answer.detail}`)
  return answer
}

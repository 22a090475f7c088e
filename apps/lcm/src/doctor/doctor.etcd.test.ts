import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Finding } from './finding.ts'

const LCM = fileURLToPath(new URL('../../../../dist/lcm.mjs', import.meta.url))
const LIMIT_MS = 90_000

interface Answer {
  readonly healthy: boolean
  readonly items: readonly Finding[]
}

let folder: string
let up: ChildProcess
let at: { readonly api: string; readonly aws: string }

/** One LCM for all tests. It measures its workers every second, so that it soon detects a silent CML. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-doctor-'))
  const args = ['up', '--port', '0', '--data', join(folder, 'data'), '--speed', '1200']
  const env = { HOME: folder, METRICS_COLLECT_INTERVAL: '1', RECONCILE_INTERVAL: '1' }
  up = spawn(process.execPath, [LCM, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    let output = ''
    up.stdout?.on('data', text => {
      output += text
      if (output.includes('Ctrl-C')) resolve()
    })
    up.on('exit', code => reject(new Error(`lcm up ended with ${code}: ${output}`)))
  })
  at = JSON.parse(readFileSync(join(folder, 'data', 'endpoints.json'), 'utf8'))
}, LIMIT_MS)
afterAll(async () => {
  const gone = once(up, 'exit')
  up.kill('SIGKILL')
  await gone
  rmSync(folder, { recursive: true, force: true })
}, LIMIT_MS)

interface Asked {
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

/** A real `lcm doctor` with nothing of the environment but what is given. */
async function doctor({ env = {}, args = [] }: Asked = {}) {
  const child = spawn(
    process.execPath,
    [LCM, 'doctor', '--data', join(folder, 'data'), '-o', 'json', '--timeout', '40s', ...args],
    {
      env: { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  let output = ''
  child.stdout?.on('data', text => {
    output += text
  })
  const [code] = await once(child, 'close')
  const { healthy, items }: Answer = JSON.parse(output)
  expect(code).toBe(healthy ? 0 : 1)
  const failures = items.filter(({ severity }) => severity === 'failure')
  // Each failure has advice.
  expect(failures.filter(({ advice }) => !advice)).toEqual([])
  return { code, items, failures: failures.map(({ check, message }) => `${check}: ${message}`) }
}

const AWS = { LCM_CLOUD: 'aws', AWS_ACCESS_KEY_ID: 'simulated', AWS_SECRET_ACCESS_KEY: 'simulated' }

it('finds no problem in a healthy installation', { timeout: LIMIT_MS }, async () => {
  const etcd = await startEtcd()
  onTestFinished(() => etcd.close())
  const env = { ...AWS, AWS_ENDPOINT_URL: at.aws, ETCD_ENDPOINTS: etcd.endpoints.join(',') }
  const { items, failures } = await doctor({ env })
  expect(failures).toEqual([])
  const checks = ['node', 'data', 'disk', 'store', 'api', 'token', 'clock', 'services', 'fleet', 'etcd', 'aws']
  expect(items.map(({ check }) => check)).toEqual(expect.arrayContaining(checks))
})

it('names an etcd that is down', { timeout: LIMIT_MS }, async () => {
  const etcd = await startEtcd()
  onTestFinished(() => etcd.close())
  await etcd.members[0]?.kill()
  const { failures } = await doctor({ env: { ETCD_ENDPOINTS: etcd.endpoints.join(',') } })
  expect(failures).toEqual([expect.stringMatching(/^etcd: etcd at \S+ cannot be reached .*ECONNREFUSED/)])
})

it('names a wrong token', { timeout: LIMIT_MS }, async () => {
  const { failures } = await doctor({ args: ['--token', 'wrong'] })
  expect(failures).toEqual(['token: the token is invalid: it is wrong, revoked or expired'])
})

it('names missing AWS credentials', { timeout: LIMIT_MS }, async () => {
  const { failures } = await doctor({ env: { LCM_CLOUD: 'aws' } })
  expect(failures).toEqual([expect.stringMatching(/^aws: no AWS credentials were found/)])
})

it('names the IAM action that is missing, and the policy that has it', { timeout: LIMIT_MS }, async () => {
  const error = {
    code: 'UnauthorizedOperation',
    status: 403,
    message: 'You are not authorized to perform this operation.',
  }
  const body = JSON.stringify({ action: 'StopInstances', times: 100, error })
  await fetch(`${at.aws}/sim/v1/faults/next`, { method: 'POST', body })
  const { items, failures } = await doctor({ env: { ...AWS, AWS_ENDPOINT_URL: at.aws } })
  await fetch(`${at.aws}/sim/v1/faults/reset`, { method: 'POST' })
  expect(failures).toEqual([expect.stringMatching(/^aws: the IAM action ec2:StopInstances is missing/)])
  expect(items.find(({ severity }) => severity === 'failure')?.advice).toContain('docs/how-to/run-on-aws.md')
})

/** A clock that is off, in front of the real API. */
async function wrongClock(aheadMs: number): Promise<{ url: string; server: Server }> {
  const server = createServer(async (request, response) => {
    const { authorization = '', 'content-type': type = 'application/json' } = request.headers
    const sent = request.method === 'GET' ? {} : { method: String(request.method), body: '{}' }
    const answer = await fetch(`${at.api}${request.url}`, { ...sent, headers: { authorization, 'content-type': type } })
    const date = new Date(Date.parse(answer.headers.get('date') ?? '') + aheadMs).toUTCString()
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '', date })
    response.end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, server }
}

it('names clocks that differ', { timeout: LIMIT_MS }, async () => {
  const { url, server } = await wrongClock(15 * 60_000)
  onTestFinished(() => void server.close())
  const token = readFileSync(join(folder, 'data', 'admin-token'), 'utf8').trim()
  const { failures } = await doctor({ args: ['--url', url, '--token', token] })
  expect(failures).toEqual([
    expect.stringMatching(/^clock: the clock of the API is 1[45]m\S* ahead of the local clock/),
  ])
})

/** A file system of its own needs rights that not every machine gives; `judge-computer.test.ts` has a full one. */
const mayMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

it.runIf(mayMount)('names a disk that is full', { timeout: LIMIT_MS }, () => {
  const small = join(folder, 'small')
  mkdirSync(small)
  const fill = `mount -t tmpfs -o size=2m tmpfs ${small} && head -c 2097152 /dev/zero > ${small}/rest`
  const ask = `exec ${process.execPath} ${LCM} doctor --data ${small} --no-color`
  const { stdout, status } = spawnSync('unshare', ['-rm', 'sh', '-c', `${fill}; ${ask}`], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stdout).toMatch(/^✗ disk +the disk is full: 0\.0 MB of 2\.0 MB free/m)
})

it('names a CML that is unreachable', { timeout: LIMIT_MS }, async () => {
  const isServing = async () => (await doctor()).items.some(({ message }) => /CML responds on 3 workers/.test(message))
  while (!(await isServing()));
  const { items } = JSON.parse(await (await fetch(`${at.aws}/sim/v1/instances`)).text())
  const faults = `${at.aws}/sim/v1/instances/${items[0].instance_id}/cml/faults`
  await fetch(faults, { method: 'PATCH', body: JSON.stringify({ network: 'cut' }) })
  const silent = ({ items: found }: { readonly items: Answer['items'] }) =>
    found.filter(({ message }) => /^CML on metal-\d does not respond at https:/.test(message))
  // A worker is asked at most every ten seconds.
  let last = await doctor()
  while (silent(last).length === 0) last = await doctor()
  await fetch(faults, { method: 'DELETE' })
  // It has no session, so no user is affected.
  expect([last.code, last.failures]).toEqual([0, []])
})

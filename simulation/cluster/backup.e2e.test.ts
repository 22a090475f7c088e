import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { WorkerView } from '@lcm/contract/worker'
import { systemClock } from '@lcm/runtime/clock'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { followWorkers } from './follow-workers.ts'

const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))
const LIMIT_MS = 120_000
const MachineList = z.object({ items: z.array(z.object({ instance_id: z.string() })) })
const Scaling = z.object({ version: z.int(), held_since: z.string().nullable() })

let child: ChildProcess | null = null
afterEach(() => child?.kill('SIGKILL'))

const clientOf = (api: string, token: string): Client =>
  apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token })

/** Starts a real process and waits for its welcome message. */
async function start(dataDir: string) {
  const started = spawn(process.execPath, [LCM, 'up', '--port', '0', '--data', dataDir, '--speed', '120'])
  child = started
  await new Promise<void>((resolve, reject) => {
    let output = ''
    const append = (text: unknown) => {
      output += text
      if (output.includes('Ctrl-C')) resolve()
    }
    started.stdout.on('data', append)
    started.stderr.on('data', append)
    started.on('exit', code => reject(new Error(`the process ended with ${code}: ${output}`)))
  })
  const { api, sim_control } = JSON.parse(readFileSync(join(dataDir, 'endpoints.json'), 'utf8'))
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const machines = async () => {
    const listed = MachineList.parse(await (await fetch(`${sim_control}/instances`)).json())
    return listed.items.map(machine => machine.instance_id).sort()
  }
  return { api, token, machines, client: clientOf(api, token) }
}

async function end(signal: NodeJS.Signals): Promise<void> {
  const dying = child
  child = null
  if (dying === null) return
  const exited = once(dying, 'exit')
  dying.kill(signal)
  await exited
}

async function lcm(...args: string[]): Promise<{ code: unknown; output: string }> {
  const command = spawn(process.execPath, [LCM, ...args])
  let output = ''
  for (const stream of [command.stdout, command.stderr]) stream.on('data', text => (output += text))
  const [code] = await once(command, 'close')
  return { code, output }
}

/** Changes one worker after another until the work is done; returns the number of rounds. */
async function writingDuring<T>(client: Client, workers: readonly WorkerView[], work: Promise<T>) {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let writes = 0
  for (; !isDone; writes += 1) {
    for (const { id } of workers)
      await client.call('patchWorker', { params: { id }, body: { tags: { round: String(writes) } } })
  }
  return { result: await done, writes }
}

/** Reads a store or a backup, which is a store too. */
function scalingIn(file: string): z.infer<typeof Scaling> {
  const db = new DatabaseSync(file, { readOnly: true })
  const row = db.prepare("SELECT body FROM documents WHERE kind = 'fleet_scaling'").get()
  db.close()
  return Scaling.parse(row === undefined ? { version: 0, held_since: null } : JSON.parse(String(row.body)))
}

const identityOf = ({ id, name, ec2_instance_id }: WorkerView) => ({ id, name, ec2_instance_id })
const allRunning = (workers: readonly WorkerView[]) => workers.every(worker => worker.status === 'RUNNING')
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

it('restores a killed fleet in another folder, with its machines and secrets', {
  timeout: LIMIT_MS,
}, async () => {
  const from = mkdtempSync(join(tmpdir(), 'lcm-from-'))
  const to = join(mkdtempSync(join(tmpdir(), 'lcm-to-')), 'restored')
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-file-')), 'fleet.backup')

  const first = await start(from)
  const fleet = await followWorkers(first.client, allRunning)
  const [one] = fleet
  const params = { id: one?.id ?? '' }
  const body = { username: 'admin', password: 'a planted password' }
  await first.client.call('putWorkerCredentials', { params, body })
  const controller = await first.client.call('createToken', {
    body: { name: 'watcher', role: 'controller', service: 'worker-controller' },
  })
  const { result, writes } = await writingDuring(first.client, fleet, lcm('backup', file, '--data', from))
  expect(result).toMatchObject({ code: 0, output: expect.stringContaining('backup saved to ') })
  expect(writes).toBeGreaterThan(1)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const machines = await first.machines()
  await end('SIGKILL')

  expect(await lcm('restore', file, '--data', to)).toMatchObject({ code: 0 })
  expect(await lcm('restore', file, '--data', to)).toMatchObject({
    code: 4,
    output: expect.stringContaining('not empty'),
  })
  const second = await start(to)
  expect(existsSync(join(to, 'restored'))).toBe(false)
  expect(second.token).not.toBe(first.token)
  const again = await followWorkers(second.client, allRunning)
  expect(again.map(identityOf).sort(byId)).toEqual(fleet.map(identityOf).sort(byId))
  expect(await second.machines()).toEqual(machines)
  const secrets = await clientOf(second.api, controller.secret).call('getWorkerSecrets', { params })
  expect(secrets.cml_password).toBe('a planted password')

  // The fleet is held at the start and released by the first sweep: two more versions.
  const scaling = () => scalingIn(join(to, 'lcm.sqlite'))
  await expect.poll(scaling, { timeout: 30_000 }).toMatchObject({ held_since: null })
  expect(scaling().version).toBeGreaterThanOrEqual(scalingIn(file).version + 2)
  await end('SIGINT')
})

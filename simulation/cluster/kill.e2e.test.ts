import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Worker } from '@lcm/domain/worker/worker'
import { systemClock } from '@lcm/runtime/clock'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { durableFields, followWorkers } from './load/follow-workers.ts'

const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))
const LIMIT_MS = 120_000
const MachineList = z.object({ items: z.array(z.object({ instance_id: z.string() })) })

let child: ChildProcess | null = null
afterEach(() => child?.kill('SIGKILL'))

interface Process {
  readonly client: Client
  readonly simControl: string
}

/** A real process, as `npm start` would run it; ready once it has welcomed people. */
async function start(dataDir: string): Promise<Process> {
  const started = spawn(process.execPath, [LCM, 'up', '--port', '0', '--data', dataDir, '--speed', '120'])
  child = started
  await new Promise<void>((resolve, reject) => {
    let said = ''
    started.stdout.on('data', text => {
      said += text
      if (said.includes('Ctrl-C')) resolve()
    })
    started.on('exit', code => reject(new Error(`it ended with ${code}: ${said}`)))
  })
  const { api, sim_control } = JSON.parse(readFileSync(join(dataDir, 'endpoints.json'), 'utf8'))
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  return { client: apiClient(httpTransport({ baseUrl: api, clock: systemClock }), { token }), simControl: sim_control }
}

async function end(signal: NodeJS.Signals): Promise<number | null> {
  const dying = child
  child = null
  if (dying === null) return null
  const exited = once(dying, 'exit')
  dying.kill(signal)
  const [code] = await exited
  return code
}

const allRunning = (workers: readonly Worker[]) => workers.every(worker => worker.status === 'RUNNING')

async function machines(simControl: string): Promise<string[]> {
  const listed = MachineList.parse(await (await fetch(`${simControl}/instances`)).json())
  return listed.items.map(machine => machine.instance_id).sort()
}

it('kill -9 in the middle of a launch leaves one machine, and the rest of the fleet unharmed', {
  timeout: LIMIT_MS,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'lcm-kill-'))
  const first = await start(dataDir)
  const fleet = await followWorkers(first.client, allRunning)
  expect(fleet).toHaveLength(3)
  await end('SIGKILL')

  /** Moments of a launch, each later than the one before. */
  const moments: readonly ((worker: Worker) => boolean)[] = [
    () => true,
    worker => worker.launch?.state === 'open',
    worker => worker.ec2_instance_id !== null,
    worker => worker.status === 'STARTING',
  ]
  for (const [index, moment] of moments.entries()) {
    const { client } = await start(dataDir)
    const { id } = await client.call('createWorker', { body: { template_name: 'metal', name: `killed-${index}` } })
    await followWorkers(client, workers => workers.some(worker => worker.id === id && moment(worker)))
    await end('SIGKILL')
  }

  const last = await start(dataDir)
  const healed = await followWorkers(last.client, allRunning)
  expect(healed).toHaveLength(3 + moments.length)
  const owned = healed.map(worker => worker.ec2_instance_id ?? '').sort()
  expect(await machines(last.simControl)).toEqual(owned)
  expect(healed.map(worker => worker.launch?.n)).toEqual(healed.map(() => 1))
  for (const before of fleet) expect(healed.map(durableFields)).toContainEqual(durableFields(before))
  expect(await end('SIGINT')).toBe(0)
})

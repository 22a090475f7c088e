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
import { durableFields, followWorkers } from './follow-workers.ts'

const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))
const LIMIT_MS = 120_000
const MachineList = z.object({ items: z.array(z.object({ instance_id: z.string() })) })

let child: ChildProcess | null = null
afterEach(() => child?.kill('SIGKILL'))

interface Process {
  readonly client: Client
  readonly simControl: string
}

/** Starts a real process and waits for its welcome message. */
async function start(dataDir: string): Promise<Process> {
  const started = spawn(process.execPath, [LCM, 'up', '--port', '0', '--data', dataDir, '--speed', '120'])
  child = started
  await new Promise<void>((resolve, reject) => {
    let output = ''
    started.stdout.on('data', text => {
      output += text
      if (output.includes('Ctrl-C')) resolve()
    })
    started.on('exit', code => reject(new Error(`the process ended with ${code}: ${output}`)))
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

it('kill -9 during a launch leaves one machine, and does not affect other workers', {
  timeout: LIMIT_MS,
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'lcm-kill-'))
  const first = await start(dataDir)
  const fleet = await followWorkers(first.client, allRunning)
  expect(fleet).toHaveLength(3)
  await end('SIGKILL')

  /** Points of a launch, in order. */
  const points: readonly ((worker: Worker) => boolean)[] = [
    () => true,
    worker => worker.launch?.state === 'open',
    worker => worker.ec2_instance_id !== null,
    worker => worker.status === 'STARTING',
  ]
  for (const [index, isReached] of points.entries()) {
    const { client } = await start(dataDir)
    const { id } = await client.call('createWorker', { body: { template_name: 'metal', name: `killed-${index}` } })
    await followWorkers(client, workers => workers.some(worker => worker.id === id && isReached(worker)))
    await end('SIGKILL')
  }

  const last = await start(dataDir)
  const healed = await followWorkers(last.client, allRunning)
  expect(healed).toHaveLength(3 + points.length)
  const owned = healed.map(worker => worker.ec2_instance_id ?? '').sort()
  expect(await machines(last.simControl)).toEqual(owned)
  expect(healed.map(worker => worker.launch?.n)).toEqual(healed.map(() => 1))
  for (const before of fleet) expect(healed.map(durableFields)).toContainEqual(durableFields(before))
  expect(await end('SIGINT')).toBe(0)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { WorkerView } from '@lcm/contract/worker-bodies'
import { systemClock } from '@lcm/runtime/clock'
import { scratchFolder } from '../api/processes.ts'

const LIMIT_MS = 120_000
/** The cloud is so much faster than life that nobody waits for it. */
const SPEED = '3600'
const LCM = fileURLToPath(new URL('../../dist/lcm.mjs', import.meta.url))

export interface RunningLcm {
  readonly client: Client
  /** Where the simulated cloud is controlled. */
  readonly simulator: string
  /** All of the first fleet, serving. */
  readonly workers: readonly WorkerView[]
  stop(): Promise<void>
}

/** `lcm up` as people run it, once its first fleet serves. */
export async function runningLcm(port: number): Promise<RunningLcm> {
  const data = join(scratchFolder(), 'data')
  const args = [LCM, 'up', '--data', data, '--port', String(port), '--sim-port', String(port + 1), '--speed', SPEED]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const token = await until('token', async () => readFileSync(join(data, 'admin-token'), 'utf8').trim() || null)
  const transport = httpTransport({ baseUrl: `http://localhost:${port}`, clock: systemClock })
  const client = apiClient(transport, { token })
  const workers = await until('fleet that serves', async () => {
    const { items } = await client.call('listWorkers', {})
    return items.length > 0 && items.every(each => each.service_status === 'AVAILABLE') ? items : null
  })
  return {
    client,
    simulator: `http://127.0.0.1:${port + 1}/sim/v1`,
    workers,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Looks again and again until something is there. */
export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const startedMs = systemClock.monotonic()
  for (;;) {
    const found = await look().catch(() => null)
    if (found !== null) return found
    if (systemClock.monotonic() - startedMs > LIMIT_MS) throw new Error(`no ${what} within ${LIMIT_MS} ms`)
    await systemClock.sleep(20)
  }
}

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { type SimClient, simClient } from '@lcm/client/sim-client'
import type { WorkerView } from '@lcm/contract/worker'
import { systemClock } from '@lcm/runtime/clock'
import { scratchFolder } from '../api/server-processes.ts'
import { spawnLcm, stopped } from './lcm-process.ts'

const LIMIT_MS = 120_000
/** Speed of the simulated cloud, so high that nothing waits for it. */
const SPEED = '3600'

/** Preloaded module: on a signal it collects garbage and records the remaining heap. */
function collectingInto(file: string): readonly string[] {
  const code = `import { writeFileSync } from 'node:fs'
    import { getHeapCodeStatistics } from 'node:v8'
    process.on('SIGUSR2', () => {
      globalThis.gc()
      const heap = process.memoryUsage().heapUsed
      const { code_and_metadata_size, bytecode_and_metadata_size } = getHeapCodeStatistics()
      writeFileSync(${JSON.stringify(file)}, heap + ' ' + (code_and_metadata_size + bytecode_and_metadata_size))
    })`
  return ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** Megabytes of heap, and of compiled code in it. */
export interface Left {
  readonly heapMb: number
  readonly codeMb: number
}

export interface RunningLcm {
  readonly client: Client
  readonly sim: SimClient
  /** The fleet once it is complete. */
  readonly workers: readonly WorkerView[]
  /** Collects garbage, and returns the remaining heap. */
  collectGarbage(): Promise<Left>
  /** Metrics in Prometheus text format. */
  metrics(): Promise<string>
  stop(): Promise<void>
}

type Fleet = readonly WorkerView[]
const isServing = (workers: Fleet) => workers.length > 0 && workers.every(each => each.service_status === 'AVAILABLE')

export interface UpOptions {
  /** Further arguments. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly isThere?: (workers: Fleet) => boolean
}

/** Starts `lcm up` and waits for its fleet; by default the first three workers, all serving. */
export async function runningLcm(
  port: number,
  { args = [], env = {}, isThere = isServing }: UpOptions = {},
): Promise<RunningLcm> {
  const scratch = scratchFolder()
  const data = join(scratch, 'data')
  const leftFile = join(scratch, 'heap-left')
  const ports = ['--port', String(port), '--sim-port', String(port + 1)]
  const child = spawnLcm(['up', '--data', data, ...ports, '--speed', SPEED, ...args], {
    env: { ...process.env, ...env },
    nodeArgs: collectingInto(leftFile),
  })
  child.stdout.resume()
  const token = await until('token', async () => readFileSync(join(data, 'admin-token'), 'utf8').trim() || null)
  const url = `http://localhost:${port}`
  const client = apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token })
  const workers = await until('fleet that serves', async () => {
    const { items } = await client.call('listWorkers', { query: { limit: 1000 } })
    return isThere(items) ? items : null
  })
  return {
    client,
    sim: simClient('/sim/v1', httpTransport({ baseUrl: `http://127.0.0.1:${port + 1}`, clock: systemClock })),
    workers,
    async collectGarbage() {
      rmSync(leftFile, { force: true })
      child.kill('SIGUSR2')
      return until('heap that is left', async () => leftIn(readFileSync(leftFile, 'utf8')))
    },
    metrics: async () => (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text(),
    stop: () => stopped(child),
  }
}

function leftIn(text: string): Left | null {
  const [heap, code] = text.split(' ').map(Number)
  return heap && code ? { heapMb: heap / 1e6, codeMb: code / 1e6 } : null
}

const LICENSE = { product: 'CML_Enterprise', token: 'a-license-token-of-the-bench' }

/** Without a license a worker runs five nodes. */
export async function licensed({ client }: RunningLcm, workers: Fleet): Promise<void> {
  for (const { id } of workers) await client.call('putWorkerLicense', { params: { id }, body: LICENSE })
  await until('licenses', async () => {
    const seen = await Promise.all(workers.map(({ id }) => client.call('getWorker', { params: { id } })))
    return seen.every(({ license }) => license.status === 'REGISTERED') ? true : null
  })
}

/** Polls until there is a result. */
export async function until<T>(
  what: string,
  read: () => Promise<T | null>,
  { everyMs = 20, withinMs = LIMIT_MS } = {},
): Promise<T> {
  const startedMs = systemClock.monotonic()
  for (;;) {
    const found = await read().catch(() => null)
    if (found !== null) return found
    if (systemClock.monotonic() - startedMs > withinMs) throw new Error(`no ${what} within ${withinMs} ms`)
    await systemClock.sleep(everyMs)
  }
}

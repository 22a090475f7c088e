import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@lcm/runtime/clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { workerId } from '../../api/fleet-documents.ts'
import { type Connection, openConnection, requestText } from '../../api/http-connections.ts'
import { scratchFolder, TOKEN } from '../../api/server-processes.ts'
import { writeFleetFile } from '../../api/write-fleet-store.ts'
import { memoryOf } from '../../product/process-usage.ts'
import { atMost, conclude, ROUNDS, shown } from '../../report/figure-report.ts'
import { median } from '../../report/quantiles.ts'

/**
 * Figures 3.7: how soon `lcm up` is ready with 10,000 workers and 1,000,000 journal rows, and what it holds in memory then,
 * after 1,000 pages of workers and after reading decisions. The workers are TERMINATED, so the controllers are idle.
 */
const WORKERS = 10_000
const DECISIONS = 1_000_000
const LISTS = 1_000
const PORT = 19_417
const READY_MS_MAX = 60_000
const SETTLE_MS = 5_000
const BAR_START_MS = 2_000
const BAR_RSS_MB = 300
const LCM = fileURLToPath(new URL('../../../dist/lcm.mjs', import.meta.url))

const scratch = scratchFolder()
const folder = join(scratch, 'data')
mkdirSync(folder)
writeFileSync(join(folder, 'admin-token'), TOKEN, { mode: 0o600 })
await writeFleetFile(join(folder, 'lcm.sqlite'), { workers: WORKERS, decisions: DECISIONS, terminated: true })

const READY = Buffer.from('GET /ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')

/** False also when the connection is closed without an answer: with a new folder, `lcm up` first tries whether the port is free. */
async function isReady(): Promise<boolean> {
  const connection = await openConnection(PORT).catch(() => null)
  const answer = await connection?.send(READY).catch(() => null)
  connection?.close()
  return answer?.status === 200
}

async function start(data: string): Promise<{ child: ChildProcess; readyMs: number }> {
  const args = [LCM, 'up', '--data', data, '--port', String(PORT), '--sim-port', String(PORT + 1)]
  const startMs = systemClock.monotonic()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  while (!(await isReady())) {
    const tookMs = systemClock.monotonic() - startMs
    if (tookMs > READY_MS_MAX || child.exitCode !== null) throw new Error('lcm up does not become ready')
    await systemClock.sleep(5)
  }
  return { child, readyMs: Math.round(systemClock.monotonic() - startMs) }
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function ask(connection: Connection, path: string): Promise<void> {
  const { status } = await connection.send(requestText('GET', path))
  if (status !== 200) throw new Error(`${path} was answered with ${status}`)
}

async function memoryUnderWork(pid: number): Promise<Record<string, number>> {
  const connection = await openConnection(PORT)
  const random = seededRandom(3)
  await systemClock.sleep(SETTLE_MS)
  const afterStart = memoryOf(pid)
  for (let n = 0; n < LISTS; n += 1) {
    await ask(connection, `workers?limit=100&include_terminated=true&cursor=${workerId(random.int(WORKERS - 101))}`)
  }
  const afterLists = memoryOf(pid)
  await ask(connection, `workers/${workerId(random.int(WORKERS))}/decisions?limit=100`)
  const afterWhy = memoryOf(pid)
  connection.close()
  return {
    after_start_mb: afterStart.rssMb,
    after_lists_mb: afterLists.rssMb,
    after_why_mb: afterWhy.rssMb,
    peak_mb: afterWhy.peakMb,
  }
}

const starts: number[] = []
const emptyStarts: number[] = []
let memory: Record<string, number> = {}
for (let round = 1; round <= ROUNDS; round += 1) {
  const empty = await start(join(scratch, `empty-${round}`))
  emptyStarts.push(empty.readyMs)
  await stop(empty.child)
  const { child, readyMs } = await start(folder)
  starts.push(readyMs)
  try {
    if (round === ROUNDS) memory = await memoryUnderWork(child.pid ?? 0)
  } finally {
    await stop(child)
  }
}

const held = Math.max(memory.after_start_mb ?? 0, memory.after_lists_mb ?? 0, memory.after_why_mb ?? 0)
const state = `${shown(WORKERS)} workers and ${shown(DECISIONS)} journal rows`
conclude({
  bench: 'api-state',
  figures: [
    atMost(`\`lcm up\` with ${state}, spawn to ready`, BAR_START_MS, {
      value: median(starts),
      unit: 'ms',
      more: `without state ${shown(median(emptyStarts))} ms`,
    }),
    atMost(`memory with ${state}, after ${shown(LISTS)} pages of 100 and a why query`, BAR_RSS_MB, {
      value: held,
      unit: 'MB',
      more: `${memory.after_start_mb} MB after the start, ${memory.peak_mb} MB at most`,
    }),
  ],
  details: { starts, emptyStarts, ...memory },
})

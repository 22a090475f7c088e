/**
 * Figure of 4.10: from somebody's wish to the call to EC2, on a quiet `lcm up` with its simulated cloud. The cloud's own journal
 * says when the call came.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { conclude, loadNow, quantilesOf } from './api/figures.ts'
import { scratchFolder } from './api/processes.ts'

const WISHES = 100
const PORT = 39_427
const BAR_P99_MS = 100
const LIMIT_MS = 120_000
const SPEED = '3600'
const LCM = fileURLToPath(new URL('../dist/lcm.mjs', import.meta.url))

const data = join(scratchFolder(), 'data')
const sim = `http://127.0.0.1:${PORT + 1}`
const args = [LCM, 'up', '--data', data, '--port', String(PORT), '--sim-port', String(PORT + 1), '--speed', SPEED]
const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
const clock = systemClock
const until = async <T>(what: string, look: () => Promise<T | null>): Promise<T> => {
  const startedMs = clock.monotonic()
  for (;;) {
    const found = await look().catch(() => null)
    if (found !== null) return found
    if (clock.monotonic() - startedMs > LIMIT_MS) throw new Error(`no ${what} within ${LIMIT_MS} ms`)
    await clock.sleep(20)
  }
}
const token = await until('token', async () => readFileSync(join(data, 'admin-token'), 'utf8').trim() || null)
const client = apiClient(httpTransport({ baseUrl: `http://localhost:${PORT}`, clock }), { token })
const workers = await until('worker that runs', async () => {
  const { items } = await client.call('listWorkers', {})
  return items.length > 0 && items.every(each => each.status === 'RUNNING' && each.service_status === 'AVAILABLE')
    ? items
    : null
})

interface Asked {
  readonly at: string
  readonly action: string
  readonly instance_ids: readonly string[]
}
async function requests(): Promise<readonly Asked[]> {
  const answer = await fetch(`${sim}/sim/v1/requests?limit=500`)
  const { items } = (await answer.json()) as { items: readonly Asked[] }
  return items
}

const took: number[] = []
for (let wish = 0; wish < WISHES; wish += 1) {
  const id = workers[(wish >> 1) % workers.length]?.id ?? ''
  const isStop = wish % 2 === 0
  const settled = isStop ? 'RUNNING' : 'STOPPED'
  const { ec2_instance_id: machine } = await until(`${settled} ${id}`, async () => {
    const worker = await client.call('getWorker', { params: { id } })
    return worker.status === settled ? worker : null
  })
  // Nothing else is going on while it is measured.
  await clock.sleep(300)
  const askedAtMs = clock.now()
  await client.call(isStop ? 'stopWorker' : 'startWorker', { params: { id }, body: { force: true } })
  const action = isStop ? 'StopInstances' : 'StartInstances'
  const call = await until(`${action} of ${machine}`, async () => {
    const all = await requests()
    const mine = all.find(
      each => each.action === action && each.instance_ids.includes(machine ?? '') && Date.parse(each.at) >= askedAtMs,
    )
    return mine ?? null
  })
  took.push(Date.parse(call.at) - askedAtMs)
}
child.kill('SIGTERM')
await once(child, 'exit')

const { p50, p99, max } = quantilesOf(took)
console.log(`${WISHES} wishes, one after another; ${loadNow()}`)
console.log(`  wish to EC2   p50 ${p50} ms   p99 ${p99} ms   max ${max} ms   (bar p99 <= ${BAR_P99_MS} ms)`)
conclude('worker-latency', { wishes: WISHES, p50, p99, max }, p99 <= BAR_P99_MS)

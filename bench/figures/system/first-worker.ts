/** Figures of 1.5: a warm `npm start` to the first worker that is RUNNING, and the time of one command. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { scratchFolder } from '../../api/server-processes.ts'
import { LCM } from '../../product/lcm-process.ts'
import { until } from '../../product/lcm-up-process.ts'
import { atMost, conclude, measured, ROUNDS, shown } from '../../report/figure-report.ts'
import { median } from '../../report/quantiles.ts'

const PORT = 19_457
const BAR_MS = 30_000
const VERSIONS = 10
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const sinceMs = (startedMs: number) => Math.round(systemClock.monotonic() - startedMs)

/** In an empty folder, at the default speed of the simulated cloud. */
async function firstRunningMs(data: string): Promise<number> {
  const startedMs = systemClock.monotonic()
  const args = ['start', '--', '--data', data, '--port', String(PORT)]
  const child = spawn('npm', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const token = await until('token', async () => readFileSync(join(data, 'admin-token'), 'utf8').trim() || null)
    const client = apiClient(httpTransport({ baseUrl: `http://localhost:${PORT}`, clock: systemClock }), { token })
    await until('worker that is RUNNING', async () => {
      const { items } = await client.call('listWorkers', {})
      return items.some(({ status }) => status === 'RUNNING') ? true : null
    })
    return sinceMs(startedMs)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

function versionMs(): number {
  const startedMs = systemClock.monotonic()
  execFileSync(process.execPath, [LCM, '--version'])
  return sinceMs(startedMs)
}

const folder = scratchFolder()
const starts: number[] = []
for (let round = 1; round <= ROUNDS; round += 1) starts.push(await firstRunningMs(join(folder, `data-${round}`)))
const versions = Array.from({ length: VERSIONS }, versionMs)
conclude({
  bench: 'first-worker',
  figures: [
    atMost('a warm `npm start` to the first worker that is RUNNING', BAR_MS, {
      value: median(starts),
      unit: 'ms',
      more: `${starts.map(each => shown(each)).join(', ')}`,
    }),
    measured('`lcm --version`', `${shown(median(versions))} ms`),
  ],
})

/**
 * Figures of 4.10: the start-up sweep of 10,000 workers at rest, and the steady cycle after it. Controller, API and simulated
 * EC2 are processes of their own, and the loop that is watched is the controller's.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsCompute } from '@lcm/cloud-aws/aws-compute'
import { awsMetrics } from '@lcm/cloud-aws/aws-metrics'
import { cmlSystemClient } from '@lcm/cloud-aws/cml-system'
import { localCoordination } from '@lcm/coordination/local'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { composeWorkerController, WORKER_CONTROLLER } from '@lcm/host/worker-controller'
import { host, silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { promMeter } from '@lcm/service/prom-meter'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/worker-controller/config'
import { conclude, loadNow, rounded } from './api/figures.ts'
import { scratchFolder, startApi, TOKEN } from './api/processes.ts'
import { recordFleet } from './controller/recorded-fleet.ts'

const WORKERS = 10_000
const CYCLES = 3
const CYCLE_MS = 30_000
const BAR = { calls: 60, sweepMs: 15_000, blockMs: 100 } as const
const FLEET = 'bench'
const clock = systemClock

const child = fork(fileURLToPath(new URL('./cloud/serve-sim.ts', import.meta.url)), [String(WORKERS)])
const [{ url: endpoint, region }] = (await once(child, 'message')) as [{ url: string; region: string }]
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
const calls: string[] = []
const compute = awsCompute({ clock, endpoint, credentials, onCall: ({ action }) => calls.push(action) })
const never = new AbortController().signal
const instances = await compute.list(region, { tags: { 'lcm:fleet': FLEET } }, never)
const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await recordFleet(file, region, instances)
const api = await startApi(folder, file)
const transport = httpTransport({ baseUrl: `http://127.0.0.1:${api.port}`, clock })
const admin = apiClient(transport, { token: TOKEN })
const { secret } = await admin.call('createToken', {
  body: { name: 'bench', role: 'controller', service: WORKER_CONTROLLER },
})

const [cml, metrics] = [cmlSystemClient({ clock }), awsMetrics({ clock, endpoint, credentials })]

/** A controller that leads from its start; like after a failover when there was one before. */
function startController(name: string) {
  const stop = new AbortController()
  const coordination = localCoordination({ clock, firstEpoch: () => epoch++ })
  const controller = composeWorkerController({
    client: apiClient(transport, { token: secret }),
    compute,
    metrics,
    cml,
    changeKeys: coordination.changeKeys,
    election: coordination.election(WORKER_CONTROLLER, name),
    logger: silentLogger,
    meter: promMeter(),
    config: {
      ...WORKER_CONTROLLER_DEFAULTS,
      fleet: FLEET,
      regions: { [region]: { security_group_ids: [], subnets: ['subnet-use1a'], key_name: null, default_tags: {} } },
      policy: WORKER_POLICY,
      reconcileIntervalMs: CYCLE_MS,
    },
    ending: stop.signal,
    problems: () => [],
  })
  const ended = host(controller.services, stop.signal)
  return {
    health: () => controller.face.health(),
    stats: () => controller.face.stats(),
    async stop() {
      stop.abort()
      await ended
    },
  }
}
let epoch = 1

// The first of all has every worker judged for the first time, which is worth a write each; later ones find nothing new.
const first = startController('first')
while ((first.stats().idle_detection_count ?? 0) < WORKERS) await clock.sleep(200)
await first.stop()

const versionsBefore = await versions()
globalThis.gc?.()
calls.length = 0
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
const startedMs = clock.monotonic()
const controller = startController('second')
while ((controller.health().workers_managed ?? 0) < WORKERS) await clock.sleep(20)
const sweepMs = Math.round(clock.monotonic() - startedMs)
const sweepCalls = calls.filter(action => action === 'DescribeInstances').length
const sweepBlockMs = rounded(delays.max / 1e6)
// Visits to all of them at once are part of taking over, not of the steady cycle.
while ((controller.stats().idle_detection_count ?? 0) < WORKERS) await clock.sleep(200)
delays.reset()
calls.length = 0
const cpuBefore = process.cpuUsage()
await clock.sleep(CYCLES * CYCLE_MS)
const cpu = process.cpuUsage(cpuBefore)
const steady = {
  calls_per_cycle: rounded(calls.filter(action => action === 'DescribeInstances').length / CYCLES),
  cpu_percent: Math.round((cpu.user + cpu.system) / (CYCLES * CYCLE_MS * 10)),
  longest_block_ms: rounded(delays.max / 1e6),
}
const written = [...(await versions())].filter(([id, version]) => versionsBefore.get(id) !== version).length
await controller.stop()
compute.close()
metrics.close()
await cml.close()
await api.stop()
child.disconnect()

async function versions(): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>()
  let cursor: string | null = null
  do {
    const query: { limit: number; cursor?: string } = cursor === null ? { limit: 1000 } : { limit: 1000, cursor }
    const page = await admin.call('listWorkers', { query })
    for (const { id, version } of page.items) all.set(id, version)
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
}

const perCycleMax = WORKERS / 200 + 1
console.log(
  [
    `${WORKERS} workers at rest, ${loadNow()}`,
    `  start-up sweep         ${sweepMs} ms   (bar <= ${BAR.sweepMs} ms)`,
    `  EC2 calls in it        ${sweepCalls}   (bar <= ${BAR.calls})`,
    `  longest block          ${sweepBlockMs} ms   (bar <= ${BAR.blockMs} ms)`,
    `  a steady cycle         ${steady.calls_per_cycle} EC2 calls   (bar <= ${perCycleMax})`,
    `  and takes              ${steady.cpu_percent} % of a core, longest block ${steady.longest_block_ms} ms`,
    `  workers written        ${written}`,
  ].join('\n'),
)
conclude(
  'worker-sweep',
  { sweep_ms: sweepMs, sweep_calls: sweepCalls, sweep_block_ms: sweepBlockMs, ...steady, written },
  sweepMs <= BAR.sweepMs &&
    sweepCalls <= BAR.calls &&
    sweepBlockMs <= BAR.blockMs &&
    steady.calls_per_cycle <= perCycleMax &&
    written === 0,
)

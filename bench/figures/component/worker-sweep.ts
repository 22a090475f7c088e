/**
 * Figures of 4.10: the first sweep of 10,000 settled workers. API and simulated EC2 are separate processes, and the measured event
 * loop is the controller's. `growth.ts` measures the time after the sweep.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { awsMetrics } from '@lcm/cloud-aws/cloudwatch/machine-metrics'
import { cmlSystemClient } from '@lcm/cloud-aws/cml/cml-system'
import { awsCompute } from '@lcm/cloud-aws/ec2/compute'
import { composeController } from '@lcm/controllers/kit/compose-controller'
import { promMeter } from '@lcm/controllers/kit/metrics'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { host, silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { scratchFolder, startApi, TOKEN } from '../../api/server-processes.ts'
import { recordFleet } from '../../controller/write-settled-fleet-store.ts'
import { atMost, conclude, shown } from '../../report/figure-report.ts'
import { rounded } from '../../report/quantiles.ts'

const WORKERS = 10_000
const CYCLE_MS = 30_000
const BAR = { calls: 60, sweepMs: 15_000, blockMs: 100 } as const
const FLEET = 'bench'
const clock = systemClock
const SERVICE = 'worker-controller'

const child = fork(fileURLToPath(new URL('../../cloud/sim-server.ts', import.meta.url)), [String(WORKERS)])
const [{ url: endpoint, region }] = (await once(child, 'message')) as [{ url: string; region: string }]
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
const calls: string[] = []
const compute = awsCompute({ clock, endpoint, credentials, onCall: ({ action }) => calls.push(action) })
const never = new AbortController().signal
const instances = await compute.list(region, { tags: { 'lcm:fleet': FLEET } }, never)
const folder = scratchFolder()
const file = join(folder, 'lcm.sqlite')
await recordFleet(file, { region }, instances)
const api = await startApi(folder, file)
const transport = httpTransport({ baseUrl: `http://127.0.0.1:${api.port}`, clock })
const admin = apiClient(transport, { token: TOKEN })
const { secret } = await admin.call('createToken', {
  body: { name: 'bench', role: 'controller', service: SERVICE },
})

const [cml, metrics] = [cmlSystemClient({ clock }), awsMetrics({ clock, endpoint, credentials })]

const config = {
  ...WORKER_CONTROLLER_DEFAULTS,
  fleet: FLEET,
  regions: { [region]: { security_group_ids: [], subnets: ['subnet-use1a'], key_name: null, default_tags: {} } },
  policy: WORKER_POLICY,
  reconcileIntervalMs: CYCLE_MS,
}

/** A controller that leads at once, like after a failover. */
function startController(name: string) {
  const stop = new AbortController()
  const coordination = localCoordination({ clock, firstEpoch: () => epoch++ })
  const parts = {
    version: 'bench',
    client: apiClient(transport, { token: secret }),
    changeKeys: coordination.changeKeys,
    election: coordination.election(SERVICE, name),
    logger: silentLogger,
    meter: promMeter(),
    ending: stop.signal,
    waitsFor: () => null,
    problems: () => [],
  }
  const controller = composeController(SERVICE, parts, shared =>
    workerController({ ...shared, ...leaderOnlyCompute({ ...shared, compute }), metrics, cml, config }),
  )
  const ended = host([controller.work, ...controller.reports], stop.signal)
  return {
    health: () => controller.admin.health(),
    stats: () => controller.admin.stats(),
    async stop() {
      stop.abort()
      await ended
    },
  }
}
let epoch = 1

// The first sweep writes every worker once; later ones find no changes.
const first = startController('first')
while ((first.stats().idle_detection_count ?? 0) < WORKERS) await clock.sleep(200)
await first.stop()

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
await controller.stop()
compute.close()
metrics.close()
await cml.close()
await api.stop()
child.disconnect()

const sweep = `start-up sweep of ${shown(WORKERS)} workers`
conclude({
  bench: 'worker-sweep',
  figures: [
    atMost(sweep, BAR.sweepMs, { value: sweepMs, unit: 'ms' }),
    atMost(`${sweep}, EC2`, BAR.calls, { value: sweepCalls, unit: 'calls' }),
    atMost(`${sweep}, longest block of the event loop`, BAR.blockMs, { value: sweepBlockMs, unit: 'ms' }),
  ],
})

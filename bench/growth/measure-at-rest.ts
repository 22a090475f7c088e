import { systemClock } from '@lcm/runtime/clock'
import { z } from 'zod'
import { until } from '../product/lcm-up-process.ts'
import { cpuSecondsOf, memoryOf } from '../product/process-usage.ts'
import { samplesIn } from '../product/prometheus-parser.ts'
import type { Services } from './service-processes.ts'

/** Resource use of a settled fleet. Records are by service. */
export interface AtRest {
  readonly workers: number
  readonly cpuSecondsPerMinute: Readonly<Record<string, number>>
  readonly memoryMb: Readonly<Record<string, number>>
  readonly ec2CallsPerMinute: number
  readonly otherAwsCallsPerMinute: number
  /** By `<service>: <method> <path>`. */
  readonly apiCallsPerMinute: Readonly<Record<string, number>>
  readonly storeMb: number
  /** Documents whose version grew without a reason. */
  readonly workersWritten: number
  readonly longestBlockMs: number
}

/** Long enough for one round of every periodic task: polls, metrics, heartbeats. */
const MINUTE_MS = 60_000
const SETTLE_MS = 5_000
const READS_MAX = 12
const EC2 = /^Describe(Instances|InstanceStatus|Images|InstanceTypes|InstanceTypeOfferings|Subnets)$/

/** Waits until the controllers have observed every worker, and measures for a minute. */
export async function atRest(services: Services, workers: number): Promise<AtRest> {
  await seen(services, workers)
  const versions = await settled(services)
  const before = await readings(services)
  await systemClock.sleep(MINUTE_MS)
  const after = await readings(services)
  const written = [...(await versionsOf(services))].filter(([id, version]) => versions.get(id) !== version).length
  const difference = (of: 'cpu' | 'calls') =>
    Object.fromEntries(Object.entries(after[of]).map(([name, value]) => [name, value - (before[of][name] ?? 0)]))
  return {
    workers,
    cpuSecondsPerMinute: difference('cpu'),
    memoryMb: after.memory,
    ec2CallsPerMinute: after.ec2 - before.ec2,
    otherAwsCallsPerMinute: after.otherAws - before.otherAws,
    apiCallsPerMinute: difference('calls'),
    storeMb: services.storeBytes() / 1e6,
    workersWritten: written,
    longestBlockMs: after.blockMs,
  }
}

const TIMEOUT_MS = 600_000
const Health = z.object({ workers_managed: z.number() })
const Stats = z.object({ metrics_collected_count: z.number().default(0), labs_scanned_count: z.number().default(0) })

/** Waits for the first observation, metrics and lab scan of each worker, which cause a write each. */
async function seen({ controllers, ask }: Services, workers: number): Promise<void> {
  const read = async (service: string, path: string): Promise<unknown> => {
    const found = controllers.find(({ name }) => name === service)
    return found === undefined ? null : (await ask(found.process, path)).json()
  }
  const isObserved = async () => {
    const { workers_managed } = Health.parse(await read('worker-controller', '/health'))
    const { metrics_collected_count } = Stats.parse(await read('worker-controller', '/admin/stats'))
    const { labs_scanned_count } = Stats.parse(await read('lablet-controller', '/admin/stats'))
    return Math.min(workers_managed, labs_scanned_count) >= workers && metrics_collected_count > 0 ? true : null
  }
  await until(`observation of ${workers} workers`, isObserved, { everyMs: 500, withinMs: TIMEOUT_MS })
}

/** Versions of all workers once they no longer change, or after a limit; then the figures show the writes. */
async function settled(services: Services): Promise<ReadonlyMap<string, number>> {
  let versions = await versionsOf(services)
  for (let n = 0; n < READS_MAX; n += 1) {
    const before = versions
    await systemClock.sleep(SETTLE_MS)
    versions = await versionsOf(services)
    if ([...versions].every(([id, version]) => before.get(id) === version)) break
  }
  return versions
}

async function readings({ api, controllers, ask }: Services) {
  const all = [{ name: 'control-plane-api', process: api }, ...controllers]
  const by = (of: (pid: number) => number) =>
    Object.fromEntries(all.map(({ name, process }) => [name, of(process.pid)]))
  const worker = controllers.find(({ name }) => name === 'worker-controller')?.process ?? api
  const samples = samplesIn(await (await ask(worker, '/metrics')).text())
  const calls = samples.filter(({ name }) => name === 'aws_calls_total')
  const count = (isEc2: boolean) =>
    calls.filter(({ labels }) => EC2.test(labels.action ?? '') === isEc2).reduce((sum, { value }) => sum + value, 0)
  return {
    cpu: by(cpuSecondsOf),
    memory: by(pid => memoryOf(pid).rssMb),
    calls: Object.fromEntries(
      controllers.flatMap(({ name, proxy }) => [...proxy.counts].map(([kind, count]) => [`${name}: ${kind}`, count])),
    ),
    ec2: count(true),
    otherAws: count(false),
    // The metric is reset by each read.
    blockMs: (samples.find(({ name }) => name === 'nodejs_eventloop_lag_max_seconds')?.value ?? 0) * 1000,
  }
}

async function versionsOf({ client }: Services): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>()
  let cursor: string | null = null
  do {
    const query: { limit: number; cursor?: string } = cursor === null ? { limit: 1000 } : { limit: 1000, cursor }
    const page = await client.call('listWorkers', { query })
    for (const { id, version } of page.items) all.set(id, version)
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
}

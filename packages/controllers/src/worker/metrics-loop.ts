import { type Client, isProblem } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlHealth, CmlStats, CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import type { MachineMetrics, MachineReading } from '@lcm/cloud/machine-metrics'
import type { WorkerSample } from '@lcm/contract/worker'
import { toInstant } from '@lcm/domain/instant'
import { recordedEndpoint } from '@lcm/domain/worker/cml-endpoint'
import { needsApproval } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { inParallel } from '../kit/in-parallel.ts'
import type { LostLabsWatch } from './checks/lost-labs-watch.ts'
import type { WorkerCounters } from './report.ts'

/** Concurrent requests to CML servers. */
const CML_AT_ONCE = 50
/** Limits of the API. */
const VERSION_CHARS_MAX = 64

export interface MetricsLoopParts {
  readonly client: Client
  readonly metrics: MachineMetrics
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly clock: Clock
  readonly logger: Logger
  readonly counters: WorkerCounters
  readonly intervalMs: number
  readonly lostLabs: Pick<LostLabsWatch, 'saw'>
  /** A sample with at least one value was reported. */
  onMeasured(worker: Worker): void
}

export interface MetricsLoop extends HostedService {
  /** Measures one worker now, for a refresh request. Missing values are left out; it never rejects. */
  measureNow(worker: Worker, signal: AbortSignal): Promise<void>
}

/** Measures every worker whose labs may run, by CloudWatch and by its CML. The sources fail independently of each other. */
export function metricsLoop(given: MetricsLoopParts): MetricsLoop {
  const parts = { ...given, metrics: emptyIfSilent(given) }
  const { clock, logger, intervalMs } = parts
  return {
    name: 'metrics',
    measureNow: (worker, signal) => measure(parts, [worker], signal),
    async run(signal) {
      while (!signal.aborted) {
        const startedMs = clock.monotonic()
        try {
          await collectAll(parts, signal)
          if (!signal.aborted) parts.counters.add('metrics_collected')
        } catch (err) {
          if (!signal.aborted) logger.warn({ err }, 'could not collect metrics')
        }
        await clock.sleep(Math.max(0, intervalMs - (clock.monotonic() - startedMs)), signal)
      }
    },
  }
}

const collectAll = async (parts: MetricsLoopParts, signal: AbortSignal): Promise<void> =>
  measure(
    parts,
    [...(await workersIn(parts, 'RUNNING', signal)), ...(await workersIn(parts, 'DRAINING', signal))],
    signal,
  )

/** A region that does not answer has no readings. Its failure is logged once per outage. */
function emptyIfSilent({ metrics, logger }: MetricsLoopParts): MachineMetrics {
  const silent = new Set<string>()
  return {
    async latest(region, ids, signal) {
      try {
        const found = await metrics.latest(region, ids, signal)
        if (silent.delete(region)) logger.info({ region }, 'CloudWatch answers again')
        return found
      } catch (err) {
        if (!silent.has(region)) logger.warn({ err, region }, 'CloudWatch could not be asked')
        silent.add(region)
        return new Map()
      }
    },
  }
}

async function measure(parts: MetricsLoopParts, workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  const readings = readingsByRegion(parts, workers, signal)
  await inParallel(workers, { atOnce: CML_AT_ONCE, signal }, async worker => {
    const [reading, server] = await Promise.all([
      readings.get(worker.aws_region)?.then(all => all.get(worker.ec2_instance_id ?? '')),
      askCml(parts, worker, signal),
    ])
    await report(parts, worker, sampleOf(reading, server, toInstant(parts.clock.now())), signal)
  })
}

const workersIn = async (
  { client }: MetricsLoopParts,
  status: Worker['status'],
  signal: AbortSignal,
): Promise<readonly Worker[]> =>
  (await readList(page => client.call('listWorkers', { query: { ...page, status }, signal }))).items

type Readings = ReadonlyMap<string, MachineReading>

/** One request per region, for all its machines. */
function readingsByRegion(
  { metrics }: MetricsLoopParts,
  workers: readonly Worker[],
  signal: AbortSignal,
): ReadonlyMap<string, Promise<Readings>> {
  const idsByRegion = new Map<string, string[]>()
  for (const { aws_region, ec2_instance_id } of workers) {
    if (ec2_instance_id === null) continue
    const ids = idsByRegion.get(aws_region) ?? []
    ids.push(ec2_instance_id)
    idsByRegion.set(aws_region, ids)
  }
  const readings = new Map<string, Promise<Readings>>()
  for (const [region, ids] of idsByRegion) {
    readings.set(region, metrics.latest(region, ids, signal))
  }
  return readings
}

interface ServerObservation {
  readonly stats: CmlStats | null
  readonly health: CmlHealth | null
  readonly version: string | null
}

/** A worker without an address has no values, and one that needs an approval is not asked; that is no failure. */
async function askCml(parts: MetricsLoopParts, worker: Worker, signal: AbortSignal): Promise<ServerObservation> {
  const url = recordedEndpoint(worker)
  if (url === null || needsApproval(worker)) return { stats: null, health: null, version: null }
  const { version } = worker.cml
  const inside = await askInside(parts, worker, url, signal)
  return inside === null ? { stats: null, health: null, version } : { ...inside, version }
}

type Inside = Omit<ServerObservation, 'version'>

/** Null where no login is known, or CML did not answer. */
async function askInside(
  parts: MetricsLoopParts,
  worker: Worker,
  url: string,
  signal: AbortSignal,
): Promise<Inside | null> {
  try {
    const login = await parts.logins.resolve(worker, url, signal)
    const [stats, health] = await Promise.all([parts.cml.stats(login, signal), healthOf(parts.cml, login, signal)])
    const isJudged = await parts.lostLabs.saw(worker, login, stats.running_nodes, signal).catch((err: unknown) => {
      if (!signal.aborted) parts.logger.warn({ err, worker: worker.id }, 'could not check for lost labs')
      return false
    })
    return { stats: isJudged ? stats : { ...stats, running_nodes: null }, health }
  } catch (error) {
    if (!(error instanceof CloudError) && !signal.aborted)
      parts.logger.warn({ err: error, worker: worker.id }, 'could not read CML')
    return null
  }
}

const healthOf = (cml: CmlSystem, login: CmlLogin, signal: AbortSignal): Promise<CmlHealth | null> =>
  cml.health(login, signal).catch(() => null)

const percentOf = (share: number | null | undefined): number | null => (share == null ? null : share * 100)

/** Values of CML win over those of CloudWatch. */
function sampleOf(reading: MachineReading | undefined, server: ServerObservation, now: string): WorkerSample {
  const { stats, health, version } = server
  return {
    collected_at: now,
    cpu_utilization: percentOf(stats?.cpu_utilization ?? reading?.cpu_utilization),
    memory_utilization: percentOf(stats?.memory_utilization ?? reading?.memory_utilization),
    disk_utilization: percentOf(stats?.disk_utilization ?? reading?.disk_utilization),
    network_in_bytes: reading?.network_in_bytes ?? null,
    network_out_bytes: reading?.network_out_bytes ?? null,
    disk_read_bytes: reading?.disk_read_bytes ?? null,
    disk_write_bytes: reading?.disk_write_bytes ?? null,
    nodes_count: stats?.running_nodes ?? null,
    cml_version: version?.slice(0, VERSION_CHARS_MAX) ?? null,
    system_info: stats && infoOf(stats),
    system_health: health && healthWords(health),
  }
}

const infoOf = ({ cpu_count, memory_total_bytes, disk_total_bytes, running_orphans }: CmlStats) => ({
  cpu_count,
  memory_total_bytes,
  disk_total_bytes,
  running_orphans,
})

function healthWords({ computes, ...flags }: CmlHealth): Record<string, boolean> {
  const all = (name: 'kvm_vmx_enabled' | 'enough_cpus' | 'refplat_images_available') =>
    computes.every(compute => compute[name] !== false)
  const values = {
    ...flags,
    kvm_vmx_enabled: all('kvm_vmx_enabled'),
    enough_cpus: all('enough_cpus'),
    refplat_images_available: all('refplat_images_available'),
  }
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])))
}

const MEASURED = [
  'cpu_utilization',
  'memory_utilization',
  'disk_utilization',
  'network_in_bytes',
  'nodes_count',
] as const

/** A worker that was removed meanwhile needs no sample. */
async function report(
  { client, logger, onMeasured }: MetricsLoopParts,
  worker: Worker,
  body: WorkerSample,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.call('reportWorkerMetrics', { params: { id: worker.id }, body, signal })
    if (MEASURED.some(name => body[name] !== null)) onMeasured(worker)
  } catch (err) {
    if (!isProblem(err, 'not_found') && !signal.aborted)
      logger.warn({ err, worker: worker.id }, 'could not report a sample')
  }
}

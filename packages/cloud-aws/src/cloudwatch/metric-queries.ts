import type { MetricDataQuery } from '@aws-sdk/client-cloudwatch'
import type { MachineReading } from '@lcm/cloud/machine-metrics'

export const PERIOD_MS = 300_000
const PERIODS = 3

/**
 * A metric of the agent. CloudWatch identifies it by its exact set of dimensions, to which `InstanceId` is always
 * added.
 */
export interface AgentMetric {
  readonly name: string
  readonly dimensions: Readonly<Record<string, string>>
}

export interface AgentMetrics {
  readonly namespace: string
  readonly memory: AgentMetric
  readonly disk: AgentMetric
}

export const AGENT_DEFAULTS: AgentMetrics = {
  namespace: 'CWAgent',
  memory: { name: 'mem_used_percent', dimensions: {} },
  disk: { name: 'disk_used_percent', dimensions: {} },
}

export const MEASURES = [
  'cpu_utilization',
  'memory_utilization',
  'disk_utilization',
  'network_in_bytes',
  'network_out_bytes',
  'disk_read_bytes',
  'disk_write_bytes',
] as const satisfies readonly (keyof MachineReading)[]
export type Measure = (typeof MEASURES)[number]

interface Source {
  readonly namespace: string
  readonly metric: AgentMetric
  readonly kind: 'percent' | 'bytes'
}

export type Sources = Readonly<Record<Measure, Source>>

export function sourcesOf({ namespace, memory, disk }: AgentMetrics): Sources {
  const ofEc2 = (name: string, kind: Source['kind']): Source => ({
    namespace: 'AWS/EC2',
    metric: { name, dimensions: {} },
    kind,
  })
  return {
    cpu_utilization: ofEc2('CPUUtilization', 'percent'),
    memory_utilization: { namespace, metric: memory, kind: 'percent' },
    disk_utilization: { namespace, metric: disk, kind: 'percent' },
    network_in_bytes: ofEc2('NetworkIn', 'bytes'),
    network_out_bytes: ofEc2('NetworkOut', 'bytes'),
    disk_read_bytes: ofEc2('EBSReadBytes', 'bytes'),
    disk_write_bytes: ofEc2('EBSWriteBytes', 'bytes'),
  }
}

/** The last complete periods. CloudWatch responds faster when start and end are aligned to periods. */
export interface Window {
  readonly startMs: number
  readonly endMs: number
}

export function lastPeriods(nowMs: number): Window {
  const endMs = Math.floor(nowMs / PERIOD_MS) * PERIOD_MS
  return { startMs: endMs - PERIODS * PERIOD_MS, endMs }
}

/** Id of a query within one call: metric and machine number. */
export const queryId = (measure: Measure, machine: number): string => `${measure}_${machine}`

export const queriesFor = (sources: Sources, instanceIds: readonly string[]): MetricDataQuery[] =>
  instanceIds.flatMap((id, machine) =>
    MEASURES.map(measure => ({
      Id: queryId(measure, machine),
      MetricStat: statOf(sources[measure], id),
      ReturnData: true,
    })),
  )

const statOf = ({ namespace, metric, kind }: Source, instanceId: string) => ({
  Metric: {
    Namespace: namespace,
    MetricName: metric.name,
    Dimensions: Object.entries({ ...metric.dimensions, InstanceId: instanceId }).map(([Name, Value]) => ({
      Name,
      Value,
    })),
  },
  Period: PERIOD_MS / 1000,
  Stat: kind === 'percent' ? 'Average' : 'Sum',
})

/** Result of one query: values by the start of their period. */
export type Points = ReadonlyMap<number, number>

export function readingOf(sources: Sources, pointsOf: (measure: Measure) => Points, window: Window): MachineReading {
  let newestMs = Number.NEGATIVE_INFINITY
  const read = (measure: Measure): number | null => {
    const point = newestPoint(pointsOf(measure), window)
    if (point === null) return null
    newestMs = Math.max(newestMs, point.atMs)
    return sources[measure].kind === 'percent' ? Math.min(1, point.value / 100) : point.value
  }
  const measured = {
    cpu_utilization: read('cpu_utilization'),
    memory_utilization: read('memory_utilization'),
    disk_utilization: read('disk_utilization'),
    network_in_bytes: read('network_in_bytes'),
    network_out_bytes: read('network_out_bytes'),
    disk_read_bytes: read('disk_read_bytes'),
    disk_write_bytes: read('disk_write_bytes'),
  }
  return { at: Number.isFinite(newestMs) ? new Date(newestMs + PERIOD_MS).toISOString() : null, ...measured }
}

/** An incomplete or old period is ignored, and so is an impossible value. */
function newestPoint(points: Points, { startMs, endMs }: Window): { atMs: number; value: number } | null {
  const usable = [...points].filter(
    ([atMs, value]) => atMs >= startMs && atMs + PERIOD_MS <= endMs && Number.isFinite(value) && value >= 0,
  )
  if (usable.length === 0) return null
  const [atMs, value] = usable.reduce((newest, point) => (point[0] > newest[0] ? point : newest))
  return { atMs, value }
}

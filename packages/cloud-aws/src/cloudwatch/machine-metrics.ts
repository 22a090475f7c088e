import { GetMetricDataCommand, type MetricDataResult } from '@aws-sdk/client-cloudwatch'
import { chunks } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError } from '@lcm/cloud/errors'
import type { MachineMetrics, MachineReading } from '@lcm/cloud/machine-metrics'
import { type AwsOptions, cloudWatchClients } from '../aws-clients.ts'
import { allPages, cloudCall } from '../cloud-call.ts'
import {
  AGENT_DEFAULTS,
  type AgentMetrics,
  lastPeriods,
  MEASURES,
  type Points,
  queriesFor,
  queryId,
  readingOf,
  sourcesOf,
  type Window,
} from './metric-queries.ts'

export interface AwsMetricsOptions extends AwsOptions {
  /** Metrics of the agent on the machines. */
  readonly agent?: AgentMetrics
}

const ACTION = 'GetMetricData'
const QUERIES_PER_CALL_MAX = 500
const MACHINES_PER_CALL_MAX = Math.floor(QUERIES_PER_CALL_MAX / MEASURES.length)
/** A call may take several pages with retries. */
const DEADLINE_MS = 60_000

/** The metrics port on CloudWatch: a whole region in few calls, since each requested metric costs money. */
export function awsMetrics(options: AwsMetricsOptions): MachineMetrics & { close(): void } {
  const clients = cloudWatchClients(options)
  const sources = sourcesOf(options.agent ?? AGENT_DEFAULTS)

  async function readingsOf(region: string, ids: readonly string[], signal: AbortSignal) {
    const window = lastPeriods(options.clock.now())
    const limits = { clock: options.clock, deadlineMs: DEADLINE_MS, signals: [signal] }
    const points = await cloudCall(ACTION, limits, async until =>
      pointsByQuery(await resultsOf(region, ids, { window, signal: until })),
    )
    return ids.map((id, machine): [string, MachineReading] => [
      id,
      readingOf(sources, measure => points.get(queryId(measure, machine)) ?? new Map(), window),
    ])
  }

  async function resultsOf(region: string, ids: readonly string[], asked: { window: Window; signal: AbortSignal }) {
    const input = {
      MetricDataQueries: queriesFor(sources, ids),
      StartTime: new Date(asked.window.startMs),
      EndTime: new Date(asked.window.endMs),
      ScanBy: 'TimestampDescending' as const,
    }
    const results: MetricDataResult[] = []
    const pages = allPages(ACTION, async NextToken => {
      const command = new GetMetricDataCommand({ ...input, ...(NextToken ? { NextToken } : {}) })
      const answer = await clients.in(region).send(command, { abortSignal: asked.signal })
      return { items: answer.MetricDataResults, next: answer.NextToken }
    })
    for await (const result of pages) results.push(result)
    return results
  }

  return {
    async latest(region, instanceIds, signal) {
      const readings = new Map<string, MachineReading>()
      for (const ids of chunks([...new Set(instanceIds)], MACHINES_PER_CALL_MAX)) {
        for (const [id, reading] of await readingsOf(region, ids, signal)) readings.set(id, reading)
      }
      return readings
    },
    close: clients.close,
  }
}

/** A result may span several pages. A query without a valid result has no points. */
function pointsByQuery(results: readonly MetricDataResult[]): ReadonlyMap<string, Points> {
  refuseWholeFailure(results)
  const byQuery = new Map<string, Map<number, number>>()
  const failed = new Set<string>()
  for (const { Id = '', StatusCode, Timestamps, Values } of results) {
    const points = byQuery.get(Id) ?? new Map<number, number>()
    byQuery.set(Id, points)
    const isReadable = Array.isArray(Timestamps) && Array.isArray(Values) && Timestamps.length === Values.length
    if (StatusCode === 'InternalError' || !isReadable) failed.add(Id)
    else for (const [n, at] of Timestamps.entries()) points.set(at.getTime(), Values[n] ?? Number.NaN)
  }
  for (const id of failed) byQuery.delete(id)
  return byQuery
}

/** Missing metrics alone would hide a missing permission. */
function refuseWholeFailure(results: readonly MetricDataResult[]): void {
  const countOf = (code: string) => results.filter(({ StatusCode }) => StatusCode === code).length
  if (countOf('Forbidden') > 0) {
    throw new CloudError('auth', { code: 'Forbidden', action: ACTION, message: 'reading a metric is not permitted' })
  }
  if (results.length > 0 && countOf('InternalError') === results.length) {
    throw new CloudError('transient', { code: 'InternalError', action: ACTION, message: 'no metric could be read' })
  }
}

import { classifyAwsCode } from '@lcm/cloud/classify-aws-errors'
import { CloudError } from '@lcm/cloud/errors'
import { type MachineMetrics, type MachineReading, NO_READING } from '@lcm/cloud/machine-metrics'
import { type Statistic, statisticOf } from '../cloudwatch/metric.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimModel } from '../sim-model.ts'

const PERIOD_MS = 300_000
/** A period is shown minutes after its end, so the newest may still be missing. */
const PERIODS_ASKED = 3

interface Asked {
  readonly namespace: string
  readonly name: string
  readonly statistic: Statistic
  /** Divisor of CloudWatch's value. */
  readonly by: number
}

const share = (namespace: string, name: string): Asked => ({ namespace, name, statistic: 'Average', by: 100 })
const bytes = (name: string): Asked => ({ namespace: 'AWS/EC2', name, statistic: 'Sum', by: 1 })

const MEASURES: Readonly<Record<Exclude<keyof MachineReading, 'at'>, Asked>> = {
  cpu_utilization: share('AWS/EC2', 'CPUUtilization'),
  memory_utilization: share('CWAgent', 'mem_used_percent'),
  disk_utilization: share('CWAgent', 'disk_used_percent'),
  network_in_bytes: bytes('NetworkIn'),
  network_out_bytes: bytes('NetworkOut'),
  disk_read_bytes: bytes('EBSReadBytes'),
  disk_write_bytes: bytes('EBSWriteBytes'),
}

/** The Metrics port on the model, without sockets or timers: for the whole-system simulation. */
export function simMetrics(model: SimModel): MachineMetrics {
  return {
    async latest(region, instanceIds, signal) {
      if (signal.aborted)
        throw new CloudError('transient', { code: 'AbortError', action: ACTION, message: 'it was canceled' })
      if (instanceIds.length === 0) return new Map()
      admitted(model, region)
      return new Map(instanceIds.map(id => [id, readingOf(model, region, id)]))
    },
  }
}

const ACTION = 'GetMetricData'

function admitted(model: SimModel, region: string): void {
  try {
    model.admit({ region, action: ACTION, request: {} })
  } catch (error) {
    if (!(error instanceof Ec2Refusal)) throw error
    const { code, status, message } = error
    throw new CloudError(classifyAwsCode(code, status), { code, action: ACTION, message, cause: error })
  }
}

function readingOf(model: SimModel, region: string, instanceId: string): MachineReading {
  const newest = (asked: Asked) => newestOf(model, region, { asked, instanceId })
  const found = Object.entries(MEASURES).map(([name, asked]) => [name, newest(asked)] as const)
  const values = Object.fromEntries(found.map(([name, measured]) => [name, measured?.value ?? null]))
  const ends = found.flatMap(([, measured]) => (measured ? [measured.end_ms] : []))
  return { ...NO_READING, ...values, at: ends.length === 0 ? null : new Date(Math.max(...ends)).toISOString() }
}

function newestOf(model: SimModel, region: string, { asked, instanceId }: { asked: Asked; instanceId: string }) {
  const to_ms = Math.floor(model.now() / PERIOD_MS) * PERIOD_MS
  const point = model.cloudwatch
    .points(region, {
      metric: { namespace: asked.namespace, name: asked.name, dimensions: [{ name: 'InstanceId', value: instanceId }] },
      range: { from_ms: to_ms - PERIODS_ASKED * PERIOD_MS, to_ms },
      periodMs: PERIOD_MS,
    })
    .at(-1)
  return point ? { value: statisticOf(point, asked.statistic) / asked.by, end_ms: point.at_ms + PERIOD_MS } : null
}

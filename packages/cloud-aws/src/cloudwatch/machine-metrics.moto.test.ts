import { CloudWatchClient, type MetricDatum, PutMetricDataCommand } from '@aws-sdk/client-cloudwatch'
import { NO_READING } from '@lcm/cloud/machine-metrics'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MOTO_CREDENTIALS, type MotoServer, startMoto } from '../testing/moto-server.ts'
import { awsMetrics } from './machine-metrics.ts'

const REGION = 'us-east-1'
const MACHINE = 'i-0a000000000000001'
const MINUTE = 60_000
const PERIOD = 5 * MINUTE
/** Two minutes into a period, so that one is not complete yet. */
const NOW = Date.parse('2026-03-01T12:02:00Z')
const NEWEST_COMPLETE = Date.parse('2026-03-01T11:55:00Z')
const RUNNING = NEWEST_COMPLETE + PERIOD
/** More queries than one call may hold, for any number of metrics. */
const FLEET_SIZE = 600
/** CloudWatch's limit for one call. */
const POINTS_MAX = 500
interface Point {
  readonly name: string
  readonly value: number
  readonly atMs: number
  readonly machine?: string
}

describe('machine metrics on moto', () => {
  let moto: MotoServer
  let cloudwatch: CloudWatchClient
  let metrics: ReturnType<typeof awsMetrics>
  beforeAll(async () => {
    moto = await startMoto()
    const access = { endpoint: moto.url, credentials: MOTO_CREDENTIALS }
    cloudwatch = new CloudWatchClient({ ...access, region: REGION })
    metrics = awsMetrics({ ...access, clock: { ...systemClock, now: () => NOW } })
  })
  beforeEach(() => moto.reset())
  afterAll(async () => {
    metrics.close()
    cloudwatch.destroy()
    await moto.close()
  })

  async function put(namespace: string, points: readonly Point[]): Promise<void> {
    for (let from = 0; from < points.length; from += POINTS_MAX) {
      const MetricData = points.slice(from, from + POINTS_MAX).map(toDatum)
      await cloudwatch.send(new PutMetricDataCommand({ Namespace: namespace, MetricData }))
    }
  }
  const latest = (ids: readonly string[], region = REGION) => metrics.latest(region, ids, new AbortController().signal)
  const reading = async () => (await latest([MACHINE])).get(MACHINE)

  it('reads the newest complete period, each metric with its own statistic', async () => {
    await put('AWS/EC2', [
      { name: 'CPUUtilization', value: 40, atMs: NEWEST_COMPLETE },
      { name: 'CPUUtilization', value: 60, atMs: NEWEST_COMPLETE + MINUTE },
      { name: 'CPUUtilization', value: 90, atMs: NEWEST_COMPLETE - PERIOD },
      { name: 'CPUUtilization', value: 99, atMs: RUNNING },
      { name: 'NetworkIn', value: 1000, atMs: NEWEST_COMPLETE },
      { name: 'NetworkIn', value: 500, atMs: NEWEST_COMPLETE + MINUTE },
      { name: 'NetworkOut', value: 7, atMs: NEWEST_COMPLETE },
      { name: 'EBSReadBytes', value: 4096, atMs: NEWEST_COMPLETE },
      { name: 'EBSWriteBytes', value: 0, atMs: NEWEST_COMPLETE },
    ])
    await put('CWAgent', [
      { name: 'mem_used_percent', value: 25, atMs: NEWEST_COMPLETE },
      { name: 'disk_used_percent', value: 75, atMs: NEWEST_COMPLETE },
    ])
    expect(await reading()).toEqual({
      at: '2026-03-01T12:00:00.000Z',
      cpu_utilization: 0.5,
      memory_utilization: 0.25,
      disk_utilization: 0.75,
      network_in_bytes: 1500,
      network_out_bytes: 7,
      disk_read_bytes: 4096,
      disk_write_bytes: 0,
    })
  })

  it('reads an older period when the newest is missing, but not one that is too old', async () => {
    await put('AWS/EC2', [
      { name: 'CPUUtilization', value: 10, atMs: NEWEST_COMPLETE - PERIOD },
      { name: 'NetworkIn', value: 10, atMs: NEWEST_COMPLETE - 10 * PERIOD },
    ])
    expect(await reading()).toEqual({ ...NO_READING, at: '2026-03-01T11:55:00.000Z', cpu_utilization: 0.1 })
  })

  it('has no values for machines without metrics, nor for those in other regions', async () => {
    await put('AWS/EC2', [{ name: 'CPUUtilization', value: 10, atMs: NEWEST_COMPLETE }])
    const unknown = 'i-0a000000000000002'
    expect((await latest([unknown])).get(unknown)).toEqual(NO_READING)
    expect((await latest([MACHINE], 'eu-west-1')).get(MACHINE)).toEqual(NO_READING)
    expect(await latest([])).toEqual(new Map())
  })

  it('reads a whole fleet', async () => {
    const ids = Array.from({ length: FLEET_SIZE }, (_, index) => `i-0${index.toString(16).padStart(16, '0')}`)
    await put(
      'AWS/EC2',
      ids.map((machine, index) => ({ name: 'CPUUtilization', value: index % 100, atMs: NEWEST_COMPLETE, machine })),
    )
    const readings = await latest(ids)
    expect(ids.map(id => readings.get(id)?.cpu_utilization)).toEqual(ids.map((_, index) => (index % 100) / 100))
  })
})

const toDatum = ({ name, value, atMs, machine = MACHINE }: Point): MetricDatum => ({
  MetricName: name,
  Value: value,
  Timestamp: new Date(atMs),
  Dimensions: [{ Name: 'InstanceId', Value: machine }],
})

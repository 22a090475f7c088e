import { metricsConformance, type OpenMetrics } from '@lcm/cloud/conformance/machine-metrics'
import { metricsFixture } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { type Script, scriptedEndpoint } from '../testing/scripted-endpoint.ts'
import { type AwsMetricsOptions, awsMetrics } from './machine-metrics.ts'

const REGION = 'us-east-1'
const CREDENTIALS = { accessKeyId: 'AKIDSIMULATED', secretAccessKey: 'none' }
const SILENT = { info: () => undefined, warn: () => undefined }
/** Two minutes into a period. */
const NOW = Date.parse('2026-03-01T12:02:00Z')
const PERIOD_END_S = Date.parse('2026-03-01T12:00:00Z') / 1000

metricsConformance('the AWS SDK over HTTP', async (): Promise<OpenMetrics> => {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock })
  const server = await startSimServer({ model, clock, log: SILENT, cml: 'off' })
  const metrics = awsMetrics({
    endpoint: server.url,
    credentials: CREDENTIALS,
    clock: { ...systemClock, now: () => clock.now() },
  })
  return {
    ...(await metricsFixture(model, ms => clock.advance(ms))),
    metrics,
    async close() {
      metrics.close()
      await server.close()
      model.close()
    },
  }
})

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function cloudWatchThatAnswers(script: Script, more: Partial<AwsMetricsOptions> = {}) {
  const endpoint = await scriptedEndpoint(script)
  const clock = { ...systemClock, now: () => NOW }
  const metrics = awsMetrics({ clock, endpoint: endpoint.url, credentials: CREDENTIALS, ...more })
  closers.push(async () => {
    metrics.close()
    await endpoint.close()
  })
  const latest = (ids: readonly string[]) => metrics.latest(REGION, ids, new AbortController().signal)
  return { latest, read: async () => (await latest(['i-1'])).get('i-1'), bodies: endpoint.bodies }
}

interface Result {
  readonly Id: string
  readonly Timestamps?: unknown
  readonly Values?: unknown
  readonly StatusCode?: string
}
const json = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.0', ...headers },
  body: JSON.stringify(body),
})
const results = (...given: readonly Result[]) => json({ MetricDataResults: given, Messages: [] })
/** CPU of the first machine in each period before 12:00. */
const cpu = (...values: readonly number[]): Result => ({
  Id: 'cpu_utilization_0',
  StatusCode: 'Complete',
  Timestamps: values.map((_, n) => PERIOD_END_S - 300 * (n + 1)),
  Values: values,
})
const bytesIn = (value: number): Result => ({ ...cpu(value), Id: 'network_in_bytes_0' })

describe('requests to CloudWatch', () => {
  it('name three whole periods of every metric, with the exact dimensions', async () => {
    const agent = {
      namespace: 'Ours',
      memory: { name: 'mem', dimensions: { host: 'h' } },
      disk: { name: 'disk', dimensions: { path: '/', InstanceId: 'never this' } },
    }
    const { latest, bodies } = await cloudWatchThatAnswers(() => results(), { agent })
    await latest(['i-1', 'i-2', 'i-1'])
    const { MetricDataQueries: queries, ...asked } = JSON.parse(bodies[0] ?? '')
    expect(asked).toEqual({
      StartTime: PERIOD_END_S - 900,
      EndTime: PERIOD_END_S,
      ScanBy: 'TimestampDescending',
    })
    expect(queries).toHaveLength(14)
    expect(queries.every(({ Id }: Result) => /^[a-z][A-Za-z0-9_]*$/.test(Id))).toBe(true)
    const stat = (name: string) =>
      queries.find(
        (query: { MetricStat: { Metric: { MetricName: string } } }) => query.MetricStat.Metric.MetricName === name,
      ).MetricStat
    expect(stat('CPUUtilization')).toEqual({
      Metric: {
        Namespace: 'AWS/EC2',
        MetricName: 'CPUUtilization',
        Dimensions: [{ Name: 'InstanceId', Value: 'i-1' }],
      },
      Period: 300,
      Stat: 'Average',
    })
    expect(stat('NetworkIn').Stat).toBe('Sum')
    expect(stat('mem').Metric).toEqual({
      Namespace: 'Ours',
      MetricName: 'mem',
      Dimensions: [
        { Name: 'host', Value: 'h' },
        { Name: 'InstanceId', Value: 'i-1' },
      ],
    })
    expect(stat('disk').Metric.Dimensions).toEqual([
      { Name: 'path', Value: '/' },
      { Name: 'InstanceId', Value: 'i-1' },
    ])
  })

  it('name at most five hundred metrics each', async () => {
    const { latest, bodies } = await cloudWatchThatAnswers(() => results())
    await latest(Array.from({ length: 150 }, (_, n) => `i-${n}`))
    expect(bodies.map(body => JSON.parse(body).MetricDataQueries.length)).toEqual([497, 497, 56])
  })

  it('continue page by page, and join the values of a metric', async () => {
    const { read, bodies } = await cloudWatchThatAnswers((_call, body) =>
      body.includes('"NextToken":"two"')
        ? results(bytesIn(7), { ...cpu(), Timestamps: [PERIOD_END_S - 300], Values: [50] })
        : json({ MetricDataResults: [{ ...cpu(0, 20), StatusCode: 'PartialData' }], NextToken: 'two' }),
    )
    expect(await read()).toMatchObject({ cpu_utilization: 0.5, network_in_bytes: 7 })
    expect(bodies).toHaveLength(2)
  })
})

describe('responses of CloudWatch', () => {
  it('count by their newest complete period', async () => {
    const soon = { ...cpu(), Timestamps: [PERIOD_END_S, PERIOD_END_S - 600, PERIOD_END_S - 300], Values: [99, 10, 25] }
    const { read } = await cloudWatchThatAnswers(() => results(soon))
    expect(await read()).toMatchObject({ cpu_utilization: 0.25, at: '2026-03-01T12:00:00.000Z' })
  })

  it.each([
    ['nothing', []],
    ['no points', [{ Id: 'cpu_utilization_0', StatusCode: 'Complete', Timestamps: [], Values: [] }]],
    ['a period too old', [{ ...cpu(1), Timestamps: [PERIOD_END_S - 1200] }]],
    ['fewer values than times', [{ ...cpu(1, 2), Values: [3] }]],
    ['no values at all', [{ Id: 'cpu_utilization_0', StatusCode: 'Complete', Timestamps: [PERIOD_END_S - 300] }]],
    ['a value below nothing', [cpu(-1)]],
    ['not a number', [{ ...cpu(1), Values: ['NaN'] }]],
    [
      'a failure of this one',
      [
        { ...cpu(5), StatusCode: 'InternalError' },
        { ...bytesIn(0), Id: 'other' },
      ],
    ],
  ])('have no value when it is %s', async (_name, given) => {
    const { read } = await cloudWatchThatAnswers(() => results(...given))
    expect(await read()).toMatchObject({ cpu_utilization: null, network_in_bytes: null, at: null })
  })

  it('keep the metrics next to a failed one', async () => {
    const { read } = await cloudWatchThatAnswers(() => results({ ...cpu(5), StatusCode: 'InternalError' }, bytesIn(0)))
    expect(await read()).toMatchObject({ cpu_utilization: null, network_in_bytes: 0 })
  })

  it('never yield a utilization above 1', async () => {
    const { read } = await cloudWatchThatAnswers(() => results(cpu(100.4)))
    expect(await read()).toMatchObject({ cpu_utilization: 1 })
  })

  it.each([
    ['an answer without a list', json({}), 'transient'],
    ['an empty answer', { body: '' }, 'transient'],
    ['a measure that is not permitted', results({ ...cpu(1), StatusCode: 'Forbidden' }), 'auth'],
    ['a failure of every measure', results({ ...cpu(1), StatusCode: 'InternalError' }), 'transient'],
    ['a time that is none', results({ ...cpu(1), Timestamps: ['yesterday'] }), 'transient'],
    ['a refusal', json({ __type: 'x#AccessDeniedException', message: 'no' }, 400), 'auth'],
    ['a wrong request', json({ __type: 'x#ValidationException', message: 'no' }, 400), 'invalid'],
  ] as const)('fails when it is %s', async (_name, answer, errorClass) => {
    const { read } = await cloudWatchThatAnswers(() => answer)
    await expect(read()).rejects.toMatchObject({ name: 'CloudError', errorClass })
  })

  it('are requested again after a transient fault', async () => {
    const fault = json({ __type: 'com.amazonaws.cloudwatch#InternalServiceFault', message: 'no' }, 500)
    const { read, bodies } = await cloudWatchThatAnswers(call => (call === 1 ? fault : results(cpu(5))))
    expect(await read()).toMatchObject({ cpu_utilization: 0.05 })
    expect(bodies).toHaveLength(2)
  })
})

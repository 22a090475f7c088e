import { gzipSync } from 'node:zlib'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { type SimServer, startSimServer } from './server.ts'

const SILENT = { info: () => undefined, warn: () => undefined }
const PERIOD_S = 300
const HOUR_MS = 3_600_000

let clock = manualClock()
let model: SimModel
let server: SimServer
let id = ''
beforeEach(async () => {
  clock = manualClock()
  model = openSimModel({ seed: 7, clock })
  server = await startSimServer({ model, clock, log: SILENT, cml: 'off' })
  plantMachines(model, 1, {})
  clock.jumpWallClock(2 * HOUR_MS)
  id = model.machines()[0]?.instance.instance_id ?? ''
})
afterEach(async () => {
  await server.close()
  model.close()
})

async function call(action: string, body: object, packed = false) {
  const text = JSON.stringify(body)
  const response = await fetch(server.url, {
    method: 'POST',
    body: packed ? new Uint8Array(gzipSync(text)) : text,
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=AKID/20260102/${SIM_COMPUTE_SETUP.region}/monitoring/aws4_request, Signature=x`,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `GraniteServiceVersion20100801.${action}`,
      ...(packed ? { 'content-encoding': 'gzip' } : {}),
    },
  })
  return { status: response.status, error: response.headers.get('x-amzn-query-error'), body: await response.json() }
}

const nowS = () => clock.now() / 1000
const query = (
  Id: string,
  MetricName: string,
  more: { Namespace?: string; Dimensions?: object[]; Stat?: string } = {},
) => ({
  Id,
  MetricStat: {
    Metric: {
      Namespace: more.Namespace ?? 'AWS/EC2',
      MetricName,
      Dimensions: more.Dimensions ?? [{ Name: 'InstanceId', Value: id }],
    },
    Period: PERIOD_S,
    Stat: more.Stat ?? 'Average',
  },
})
const window = () => ({ StartTime: nowS() - 3 * PERIOD_S, EndTime: nowS() })
const valuesOf = async (asked: object, range: object = window()) => {
  const { body } = await call('GetMetricData', { MetricDataQueries: [asked], ...range })
  return Object(body).MetricDataResults[0].Values
}

describe('GetMetricData', () => {
  it("returns the newest first, in five-minute steps, without periods that aren't published yet", async () => {
    model.faults.patch({ metric_delay_s: 120 })
    clock.jumpWallClock(60_000)
    const range = { StartTime: nowS() - 60 - 3 * PERIOD_S, EndTime: nowS() - 60 }
    const { status, body } = await call('GetMetricData', {
      MetricDataQueries: [query('cpu', 'CPUUtilization')],
      ...range,
    })
    expect(status).toBe(200)
    const newest = range.EndTime - 2 * PERIOD_S
    expect(body).toEqual({
      MetricDataResults: [
        {
          Id: 'cpu',
          Label: 'CPUUtilization',
          StatusCode: 'Complete',
          Timestamps: [newest, newest - PERIOD_S],
          Values: [expect.any(Number), expect.any(Number)],
        },
      ],
      Messages: [],
    })
    const cpu = Object(body).MetricDataResults[0].Values[0]
    expect(cpu).toBeGreaterThan(0)
    expect(cpu).toBeLessThanOrEqual(100)
  })

  it('finds a metric only by its exact dimensions', async () => {
    const wizard = [
      { Name: 'InstanceId', Value: id },
      { Name: 'ImageId', Value: model.machine(id)?.instance.image_id ?? '' },
      { Name: 'InstanceType', Value: model.machine(id)?.instance.instance_type ?? '' },
    ]
    const memory = (Dimensions?: object[]) =>
      valuesOf(query('m', 'mem_used_percent', { Namespace: 'CWAgent', ...(Dimensions ? { Dimensions } : {}) }))
    expect(await memory()).toHaveLength(3)
    expect(await memory(wizard.toReversed())).toHaveLength(3)
    expect(await memory(wizard.slice(0, 2))).toEqual([])
    model.faults.patch({ agent_dimensions: 'wizard' })
    expect(await memory()).toEqual([])
    expect(await memory(wizard)).toHaveLength(3)
    model.faults.patch({ agent_dimensions: 'none' })
    expect(await memory(wizard)).toEqual([])
  })

  it('returns no data of a stopped machine, or of another region', async () => {
    model.ec2.stopInstances(SIM_COMPUTE_SETUP.region, { ids: [id], force: true })
    clock.jumpWallClock(HOUR_MS)
    expect(await valuesOf(query('a', 'NetworkIn', { Stat: 'Sum' }))).toEqual([])
    const before = { StartTime: nowS() - 3600 - 3 * PERIOD_S, EndTime: nowS() - 3600 }
    expect(await valuesOf(query('a', 'NetworkIn', { Stat: 'Sum' }), before)).toHaveLength(3)
  })

  it('leaves out periods at the given rate', async () => {
    model.faults.patch({ metric_gap_rate: 0.5 })
    const range = { StartTime: nowS() - 6000, EndTime: nowS() }
    const values = await valuesOf(query('a', 'CPUUtilization'), range)
    expect(values.length).toBeGreaterThan(3)
    expect(values.length).toBeLessThan(17)
  })

  it('returns pages', async () => {
    const MetricDataQueries = Array.from({ length: 450 }, (_, n) => query(`q${n}`, 'CPUUtilization'))
    const sizes: number[] = []
    let NextToken: string | undefined
    do {
      const { body } = await call('GetMetricData', {
        MetricDataQueries,
        ...window(),
        ...(NextToken ? { NextToken } : {}),
      })
      sizes.push(Object(body).MetricDataResults.length)
      NextToken = Object(body).NextToken
    } while (NextToken)
    expect(sizes).toEqual([200, 200, 50])
  })

  it.each([
    ['too many queries', () => ({ MetricDataQueries: Array.from({ length: 501 }, (_, n) => query(`q${n}`, 'x')) })],
    ['no queries', () => ({ MetricDataQueries: [] })],
    ['an id that begins with a capital', () => ({ MetricDataQueries: [query('Cpu', 'x')] })],
    ['an id twice', () => ({ MetricDataQueries: [query('a', 'x'), query('a', 'y')] })],
    ['an end before the start', () => ({ MetricDataQueries: [query('a', 'x')], EndTime: 0 })],
    ['an expression', () => ({ MetricDataQueries: [{ Id: 'a', Expression: 'SUM(METRICS())' }] })],
    ['a list of something else', () => ({ MetricDataQueries: [7] })],
  ])('refuses %s', async (_name, body) => {
    const answer = await call('GetMetricData', { ...window(), ...body() })
    expect(answer).toMatchObject({
      status: 400,
      error: 'ValidationError;Sender',
      body: { __type: 'com.amazonaws.cloudwatch#ValidationException', message: expect.any(String) },
    })
  })

  it("is throttled with CloudWatch's own error code", async () => {
    model.faults.patch({ request_limits: true })
    const ask = () => call('GetMetricData', { MetricDataQueries: [query('a', 'x')], ...window() })
    for (let n = 0; n < 50; n++) await ask()
    expect(await ask()).toMatchObject({
      status: 400,
      error: 'Throttling;Sender',
      body: { __type: 'com.amazonaws.cloudwatch#ThrottlingException' },
    })
  })
})

describe('metrics of callers', () => {
  const put = (MetricData: object[], Namespace = 'LCM') => call('PutMetricData', { Namespace, MetricData })

  it('are stored, also compressed, and read back', async () => {
    const datum = {
      MetricName: 'Workers',
      Dimensions: [{ Name: 'Fleet', Value: 'f' }],
      Timestamp: nowS() - 100,
      Unit: 'Count',
    }
    await call('PutMetricData', { Namespace: 'LCM', MetricData: [{ ...datum, Value: 3 }] }, true)
    await put([{ ...datum, Values: [5, 7], Counts: [2, 1] }])
    const asked = {
      Namespace: 'LCM',
      MetricName: 'Workers',
      Dimensions: datum.Dimensions,
      Period: PERIOD_S,
      Statistics: ['Sum', 'SampleCount', 'Maximum'],
      ...window(),
    }
    const { body } = await call('GetMetricStatistics', asked)
    expect(body).toMatchObject({
      Label: 'Workers',
      Datapoints: [{ Sum: 20, SampleCount: 4, Maximum: 7, Unit: 'Count' }],
    })
    expect((await call('ListMetrics', { Namespace: 'LCM' })).body).toEqual({
      Metrics: [{ Namespace: 'LCM', MetricName: 'Workers', Dimensions: datum.Dimensions }],
    })
  })

  it.each([
    [[{ MetricName: 'a', Value: 1 }], 'AWS/EC2', 'InvalidParameterValue'],
    [[{ MetricName: 'a', Value: 1, Timestamp: 1 }], 'LCM', 'InvalidParameterValue'],
    [[{ MetricName: 'a' }], 'LCM', 'ValidationError'],
    [[], 'LCM', 'ValidationError'],
  ])('%j in %s are refused', async (data, namespace, code) => {
    expect(await put(data, namespace)).toMatchObject({ status: 400, error: `${code};Sender` })
  })
})

it('lists the metrics of machines, page by page', async () => {
  const { body } = await call('ListMetrics', { MetricName: 'disk_used_percent', Dimensions: [{ Name: 'path' }] })
  expect(Object(body).Metrics).toHaveLength(1)
  plantMachines(model, 60, {})
  clock.jumpWallClock(600_000)
  const first = await call('ListMetrics', { Dimensions: [{ Name: 'InstanceId' }] })
  expect(Object(first.body).Metrics).toHaveLength(500)
  const second = await call('ListMetrics', {
    Dimensions: [{ Name: 'InstanceId' }],
    NextToken: Object(first.body).NextToken,
  })
  expect(Object(second.body).Metrics.length).toBeGreaterThan(400)
})

it("returns an error for a call that isn't simulated", async () => {
  expect(await call('DescribeAlarms', {})).toMatchObject({ status: 400, error: 'InvalidAction;Sender' })
})

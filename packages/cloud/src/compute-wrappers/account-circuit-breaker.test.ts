import { manualClock } from '@lcm/testkit/manual-clock'
import { anInstance, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { CloudError, type CloudErrorClass } from '../errors.ts'
import type { MachineMetrics } from '../machine-metrics.ts'
import { type AccountCircuitBreaker, accountCircuitBreaker } from './account-circuit-breaker.ts'
import type { BatchedCompute } from './batched-compute.ts'

const MINUTE_MS = 60_000
const never = new AbortController().signal

let clock: ReturnType<typeof manualClock>
let breaker: AccountCircuitBreaker
let machines: BatchedCompute
let metrics: MachineMetrics
let sent: string[]
let failure: CloudError | null

const error = (errorClass: CloudErrorClass, code: string, action = 'RunInstances') =>
  new CloudError(errorClass, { code, action, message: 'You have asked for too much.' })
const answer = async <T>(name: string, value: T): Promise<T> => {
  sent.push(name)
  if (failure !== null) throw failure
  return value
}
const launch = (type = 'm5zn.metal', region = 'us-east-1') =>
  machines.launch(
    region,
    { client_token: 't', parameters: { ...someLaunchParameters(), instance_type: type }, user_data: null },
    never,
  )
const stop = (id: string) => machines.powerOne('us-east-1', 'stop', id, never)
const failed = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (reason: unknown) => reason,
  )

beforeEach(() => {
  clock = manualClock()
  sent = []
  failure = null
  breaker = accountCircuitBreaker(clock)
  machines = breaker.guardCompute({
    list: () => answer('list', []),
    describeOne: () => answer('read', null),
    newestImage: () => answer('newestImage', null),
    imageIds: () => answer('imageIds', []),
    launch: () => answer('launch', anInstance()),
    powerOne: (_, act) => answer(act, 'stopping'),
    tag: () => answer('tag', undefined),
  })
  metrics = breaker.guardMetrics({ latest: () => answer('latest', new Map()) })
})

describe('an exhausted quota', () => {
  it('is a problem of the whole controller until such a launch succeeds', async () => {
    failure = error('quota', 'VcpuLimitExceeded')
    expect(await failed(launch())).toBe(failure)
    const refused = 'AWS has refused RunInstances of m5zn.metal in us-east-1 since 2026-01-01 00:00 UTC'
    const awsMessage = 'VcpuLimitExceeded: You have asked for too much'
    expect(breaker.problems()).toMatchObject([
      { code: 'aws_refuses_call', message: `${refused}: ${awsMessage}; next try at 2026-01-01 00:05 UTC` },
    ])
    failure = null
    await clock.advance(5 * MINUTE_MS)
    await launch()
    expect(breaker.problems()).toEqual([])
  })

  it('is retried in time though the clock is set back meanwhile', async () => {
    failure = error('quota', 'VcpuLimitExceeded')
    await failed(launch())
    clock.jumpWallClock(-60 * MINUTE_MS)
    await clock.advance(5 * MINUTE_MS)
    await failed(launch())
    expect(sent).toHaveLength(2)
  })

  it('is retried after 5, 10 and 15 minutes; nothing is sent between', async () => {
    failure = error('quota', 'VcpuLimitExceeded')
    for (let minute = 0; minute < 60; minute += 1) {
      expect(await failed(launch())).toMatchObject({ errorClass: 'quota', code: 'VcpuLimitExceeded' })
      await clock.advance(MINUTE_MS)
    }
    // At 0, 5, 15, 30 and 45.
    expect(sent).toHaveLength(5)
  })

  it('blocks neither other types, other regions nor other actions', async () => {
    failure = error('quota', 'VcpuLimitExceeded')
    await failed(launch())
    failure = null
    await launch('c5.metal')
    await launch('m5zn.metal', 'eu-west-1')
    await machines.list('us-east-1', { client_token: 't' }, never)
    expect(await stop('i-1')).toBe('stopping')
    expect(sent).toHaveLength(5)
    expect(breaker.problems()).toHaveLength(1)
  })
})

describe('rejected credentials', () => {
  it('are retried after 1, 2, 4 and then every 5 minutes', async () => {
    failure = error('auth', 'ExpiredToken', 'DescribeInstances')
    for (let minute = 0; minute < 20; minute += 1) {
      expect(await failed(machines.describeOne('us-east-1', 'i-1', never))).toBe(failure)
      await clock.advance(MINUTE_MS)
    }
    // At 0, 1, 3, 7, 12 and 17.
    expect(sent).toHaveLength(6)
    expect(breaker.problems()).toMatchObject([
      { code: 'aws_refuses_call', params: { operation: 'DescribeInstances', region: 'us-east-1' } },
    ])
  })

  it("fail every machine's call, and one success ends the problem", async () => {
    failure = error('auth', 'UnauthorizedOperation', 'StopInstances')
    const both = () => Promise.all([failed(stop('i-2')), failed(stop('i-3'))])
    await both()
    expect(await both()).toEqual([failure, failure])
    expect(sent).toEqual(['stop', 'stop'])
    failure = null
    await clock.advance(MINUTE_MS)
    await stop('i-2')
    expect(breaker.problems()).toEqual([])
  })

  it('of CloudWatch are a problem too', async () => {
    failure = error('auth', 'AccessDenied', 'GetMetricData')
    await failed(metrics.latest('us-east-1', ['i-1'], never))
    await failed(metrics.latest('us-east-1', ['i-1'], never))
    expect([sent, breaker.problems()]).toEqual([
      ['latest'],
      [
        expect.objectContaining({
          code: 'aws_refuses_call',
          params: expect.objectContaining({ operation: 'GetMetricData' }),
        }),
      ],
    ])
  })
})

it('tags that a policy forbids are a problem, and block nothing else', async () => {
  failure = error('auth', 'UnauthorizedOperation', 'CreateTags')
  const tag = () => machines.tag('us-east-1', 'i-1', { Name: 'x' }, never)
  expect([await failed(tag()), await failed(tag())]).toEqual([failure, failure])
  expect(breaker.problems()).toMatchObject([
    { code: 'aws_refuses_call', params: { operation: 'CreateTags', region: 'us-east-1' } },
  ])
  failure = null
  expect(await failed(stop('i-1'))).toBeNull()
  await clock.advance(MINUTE_MS)
  await tag()
  expect([sent, breaker.problems()]).toEqual([['tag', 'stop', 'tag'], []])
})

it('a launch that a policy forbids blocks no other', async () => {
  failure = error('auth', 'UnauthorizedOperation')
  await failed(launch('c5.metal'))
  await failed(launch('c5.metal'))
  failure = null
  expect(await failed(launch('m5zn.metal'))).toBeNull()
  expect(sent).toEqual(['launch', 'launch'])
})

describe('a machine that may not be stopped', () => {
  it('blocks no other: it may be the only one', async () => {
    const refusal = error('auth', 'UnauthorizedOperation', 'StopInstances')
    failure = refusal
    await failed(stop('i-1'))
    failure = null
    expect(await failed(stop('i-1'))).toBe(refusal)
    expect(await stop('i-2')).toBe('stopping')
  })

  it('is one problem, however many there are', async () => {
    failure = error('auth', 'UnauthorizedOperation', 'StopInstances')
    await Promise.all(['i-1', 'i-2', 'i-3'].map(id => failed(stop(id))))
    expect(breaker.problems()).toEqual([
      expect.objectContaining({
        code: 'aws_refuses_call',
        params: expect.objectContaining({ operation: 'StopInstances', region: 'us-east-1' }),
      }),
    ])
  })
})

it('is dropped when no caller retries any more', async () => {
  failure = error('quota', 'VcpuLimitExceeded')
  await failed(launch())
  await clock.advance(19 * MINUTE_MS)
  expect(breaker.problems()).toHaveLength(1)
  await clock.advance(MINUTE_MS)
  expect(breaker.problems()).toEqual([])
})

it('ignores other errors, which neither pause nor clear anything', async () => {
  failure = error('auth', 'ExpiredToken')
  await failed(launch())
  await clock.advance(MINUTE_MS)
  failure = error('transient', 'TimeoutError')
  await failed(launch())
  expect([sent.length, breaker.problems().length]).toEqual([2, 1])
  failure = error('capacity', 'InsufficientInstanceCapacity')
  await failed(launch())
  expect([sent.length, breaker.problems()]).toEqual([3, []])
})

it('starts over with every term', async () => {
  failure = error('quota', 'VcpuLimitExceeded')
  await failed(launch())
  breaker.clear()
  expect(breaker.problems()).toEqual([])
  await failed(launch())
  expect(sent).toHaveLength(2)
})

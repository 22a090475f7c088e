import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import type { RunRequest } from './run-instances.ts'

const MINUTE = 60_000
const { region } = SIM_COMPUTE_SETUP
const EVERYTHING = { instance_ids: [], filters: [], max_results: null, next_token: null }

function open(speed = 1) {
  const clock = manualClock()
  const model = openSimModel({ seed: 7, clock, speed })
  model.faults.patch({ unknown_at_first_s: 0 })
  return { model, pass: (ms: number) => clock.jumpWallClock(ms) }
}

const imageOf = (model: SimModel) =>
  model.ec2.describeImages(region, {
    image_ids: [],
    owners: ['self'],
    filters: [],
    max_results: null,
    next_token: null,
  }).items[0]?.image_id ?? ''

function launch(model: SimModel, more: Partial<RunRequest> = {}): readonly string[] {
  const request: RunRequest = {
    image_id: imageOf(model),
    instance_type: 'c5.metal',
    subnet_id: 'subnet-use1a',
    client_token: null,
    count: 1,
    nested_virtualization: false,
    tags: { Name: 'first' },
    canonical: '',
    ...more,
  }
  return model.ec2.runInstances(region, request).map(({ instance }) => instance.instance_id)
}

const list = (model: SimModel) => model.ec2.describeInstances(region, EVERYTHING).items
const only = (model: SimModel) => list(model)[0]

const running = (more: Partial<RunRequest> = {}) => {
  const opened = open()
  const ids = launch(opened.model, more)
  opened.pass(30 * MINUTE)
  return { ...opened, ids, id: ids[0] ?? '' }
}

describe('a new id', () => {
  it('is unknown for as long as the plan says', () => {
    const { model, pass } = open()
    model.faults.patch({ unknown_at_first_s: 300 })
    const ids = launch(model, { count: 20 })
    const unknownAt = (ms: number) => {
      pass(ms)
      return 20 - list(model).length
    }
    expect(() => model.ec2.createTags(region, { ids, tags: { a: 'b' } })).toThrow('do not exist')
    const soon = unknownAt(30_000)
    expect(soon).toBeGreaterThan(10)
    expect(unknownAt(120_000)).toBeLessThan(soon)
    expect(unknownAt(150_000)).toBe(0)
  })
})

describe('a stale read', () => {
  it('shows state, address and tags from a bounded time ago', () => {
    const { model, pass, ids } = running()
    const before = only(model)
    model.ec2.stopInstances(region, { ids, force: false })
    pass(10 * MINUTE)
    model.ec2.startInstances(region, { ids })
    model.ec2.createTags(region, { ids, tags: { Name: 'second' } })
    pass(5 * MINUTE)
    model.faults.patch({ stale_read_rate: 1, stale_read_s: 20 * 60 })
    const seen = Array.from({ length: 200 }, () => only(model))
    expect(new Set(seen.map(view => view?.state))).toEqual(new Set(['running', 'stopping', 'stopped', 'pending']))
    expect(new Set(seen.map(view => view?.tags.Name))).toEqual(new Set(['first', 'second']))
    expect(seen.some(view => view?.public_ip === before?.public_ip)).toBe(true)
    pass(21 * MINUTE)
    expect(new Set(Array.from({ length: 50 }, () => only(model)?.state))).toEqual(new Set(['running']))
  })

  it("doesn't include the newest machines", () => {
    const { model, pass } = running()
    launch(model)
    pass(5 * MINUTE)
    model.faults.patch({ stale_read_rate: 1, stale_read_s: 600 })
    const counts = new Set(Array.from({ length: 50 }, () => list(model).length))
    expect(counts).toEqual(new Set([1, 2]))
  })
})

describe('a zone without capacity', () => {
  const scarce = { availability_zone: 'us-east-1a', instance_type: 'c5.metal' }

  it('rejects launches and starts there, and names the zones with capacity', () => {
    const { model, pass, ids } = running()
    model.ec2.stopInstances(region, { ids, force: true })
    pass(MINUTE)
    model.faults.setCapacity(scarce, 0)
    model.faults.setCapacity({ ...scarce, availability_zone: 'us-east-1b' }, 0)
    const refused = expect.objectContaining({
      code: 'InsufficientInstanceCapacity',
      status: 500,
      message: expect.stringMatching(/\(us-east-1a\)\..* or choosing us-east-1c\.$/),
    })
    expect(() => launch(model)).toThrow(refused)
    expect(() => model.ec2.startInstances(region, { ids })).toThrow(refused)
    expect(launch(model, { instance_type: 'm5.metal' })).toHaveLength(1)
    expect(launch(model, { subnet_id: null })).toHaveLength(1)
    model.faults.setCapacity(scarce, null)
    expect(model.ec2.startInstances(region, { ids })[0]?.current).toBe('pending')
  })

  it('launches as many machines as fit between the two counts, and then has no capacity left', () => {
    const { model } = open()
    model.faults.setCapacity(scarce, 3)
    expect(() => launch(model, { count: 5, min_count: 4 })).toThrow('sufficient')
    expect(launch(model, { count: 5, min_count: 2 })).toHaveLength(3)
    expect(() => launch(model, { count: 1 })).toThrow('sufficient')
  })

  it('comes and goes by itself at the rate of the plan', () => {
    const { model, pass } = open()
    model.faults.patch({ capacity_error_rate: 0.3 })
    let refused = 0
    for (let n = 0; n < 200; n++) {
      pass(3 * MINUTE)
      try {
        launch(model)
      } catch {
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(30)
    expect(refused).toBeLessThan(90)
  })
})

it('a quota counts vCPUs of machines that run or go down, for launches and starts', () => {
  const { model, pass, ids } = running()
  model.faults.patch({ vcpu_limit: 192 })
  const [second = ''] = launch(model)
  const refused = expect.objectContaining({ code: 'VcpuLimitExceeded', status: 400 })
  expect(() => launch(model)).toThrow(refused)
  model.ec2.stopInstances(region, { ids, force: true })
  expect(() => launch(model)).toThrow(refused)
  pass(MINUTE)
  expect(launch(model)).toHaveLength(1)
  expect(() => model.ec2.startInstances(region, { ids })).toThrow(refused)
  model.ec2.terminateInstances(region, { ids: [second] })
  pass(3 * MINUTE)
  expect(model.ec2.startInstances(region, { ids })[0]?.current).toBe('pending')
})

describe('a protected machine', () => {
  it('protects its whole zone from termination, while machines in other zones are terminated although the call fails', () => {
    const { model, ids, pass } = running({ count: 2 })
    const others = launch(model, { subnet_id: 'subnet-use1b' })
    pass(MINUTE * 5)
    const [kept = '', neighbor = ''] = ids
    protect(model, kept, { disable_api_termination: true })
    expect(() => model.ec2.terminateInstances(region, { ids: [neighbor, ...others, kept] })).toThrow(
      expect.objectContaining({ code: 'OperationNotPermitted', message: expect.stringContaining(`'${kept}'`) }),
    )
    const states = Object.fromEntries(list(model).map(view => [view.instance.instance_id, view.state]))
    expect(states).toEqual({ [kept]: 'running', [neighbor]: 'running', [others[0] ?? '']: 'shutting-down' })
    protect(model, kept, { disable_api_termination: false })
    model.ec2.terminateInstances(region, { ids })
    expect(list(model).every(view => view.state === 'shutting-down')).toBe(true)
  })

  it('is neither stopped nor terminated when it has stop protection', () => {
    const { model, id, ids } = running()
    protect(model, id, { disable_api_stop: true })
    for (const act of ['stopInstances', 'terminateInstances'] as const) {
      expect(() => model.ec2[act](region, { ids, force: true })).toThrow(/disableApiStop/)
    }
    expect(only(model)?.state).toBe('running')
  })

  const protect = (model: SimModel, instance_id: string, more: object) =>
    model.ec2.modifyInstanceAttribute(region, {
      instance_id,
      disable_api_termination: null,
      disable_api_stop: null,
      instance_type: null,
      ...more,
    })

  it('changes its type only while stopped', () => {
    const { model, id, ids, pass } = running()
    expect(() => protect(model, id, { instance_type: 'm5.metal' })).toThrow('stopped')
    model.ec2.stopInstances(region, { ids, force: true })
    pass(MINUTE)
    protect(model, id, { instance_type: 'm5.metal' })
    expect(only(model)?.instance.instance_type).toBe('m5.metal')
  })
})

it('a terminated machine loses its tags first, and then disappears, both scaled by the speed', () => {
  const { model, pass } = open(60)
  const ids = launch(model)
  pass(MINUTE)
  model.faults.patch({ terminated_tags_s: 600 })
  model.ec2.terminateInstances(region, { ids })
  pass(5000)
  expect(only(model)).toMatchObject({ state: 'terminated', tags: { Name: 'first' } })
  pass(10_000)
  expect(only(model)).toMatchObject({ state: 'terminated', tags: {} })
  pass(MINUTE)
  expect(list(model)).toEqual([])
})

describe('a launch that dies in pending', () => {
  it('returns success, and the machine is terminated with a reason', () => {
    const { model, pass } = open()
    model.faults.patch({ pending_death_rate: 1 })
    launch(model, { count: 20 })
    expect(list(model).every(view => view.state === 'pending')).toBe(true)
    pass(2 * MINUTE)
    expect(new Set(list(model).map(view => view.state))).toEqual(new Set(['terminated']))
    expect(new Set(list(model).map(view => view.state_reason?.code))).toEqual(
      new Set(['Server.InsufficientInstanceCapacity', 'Client.InternalError']),
    )
    pass(60 * MINUTE)
    expect(list(model)).toEqual([])
  })

  it('leaves a machine that had run before in state stopped', () => {
    const { model, pass, ids } = running()
    model.ec2.stopInstances(region, { ids, force: true })
    pass(MINUTE)
    model.faults.patch({ pending_death_rate: 1 })
    model.ec2.startInstances(region, { ids })
    pass(2 * MINUTE)
    expect(only(model)).toMatchObject({ state: 'stopped', public_ip: null })
    model.faults.patch({ pending_death_rate: 0 })
    model.ec2.startInstances(region, { ids })
    pass(2 * MINUTE)
    expect(only(model)?.state).toBe('running')
  })

  it('can be triggered', () => {
    const { model, pass } = open()
    const [id = ''] = launch(model)
    model.incidents.killInPending(id)
    expect(only(model)).toMatchObject({
      state: 'terminated',
      state_reason: { code: 'Server.InsufficientInstanceCapacity' },
    })
    const [next = ''] = launch(model)
    pass(5 * MINUTE)
    expect(() => model.incidents.killInPending(next)).toThrow('no longer pending')
  })
})

describe('retirement', () => {
  const statuses = (model: SimModel) =>
    model.ec2.describeInstanceStatus(region, { ...EVERYTHING, include_all: true }).items

  it('is announced, stops the machine, and ends with the next start', () => {
    const { model, pass, id, ids } = running()
    model.incidents.retire(id, 3600)
    expect(statuses(model)[0]?.event).toMatchObject({
      code: 'instance-stop',
      description: expect.not.stringContaining('['),
    })
    pass(61 * MINUTE)
    expect(only(model)).toMatchObject({
      state: 'stopped',
      state_reason: { code: 'Server.ScheduledStop' },
      stage: 'NOTHING',
    })
    expect(statuses(model)[0]?.event?.description).toMatch(/^\[Completed\] /)
    model.ec2.startInstances(region, { ids })
    pass(120 * MINUTE)
    expect(only(model)).toMatchObject({ state: 'running', stage: 'READY' })
    pass(8 * 24 * 60 * MINUTE)
    expect(statuses(model)[0]?.event).toBeNull()
  })

  it('is avoided by a stop and a start before its date', () => {
    const { model, pass, id, ids } = running()
    model.incidents.retire(id, 7200)
    model.ec2.stopInstances(region, { ids, force: true })
    pass(MINUTE)
    model.ec2.startInstances(region, { ids })
    pass(5 * 60 * MINUTE)
    expect(only(model)?.state).toBe('running')
    expect(statuses(model)[0]?.event?.description).toMatch(/^\[Completed\]/)
  })

  it('comes by itself at the rate of the plan', () => {
    const { model, pass } = open()
    model.faults.patch({ retirement_rate: 0.5 })
    launch(model, { count: 40 })
    pass(5 * 60 * MINUTE)
    const stopped = list(model).filter(view => view.state_reason?.code === 'Server.ScheduledStop').length
    expect(stopped).toBeGreaterThan(8)
    expect(stopped).toBeLessThan(32)
  })
})

it('a token of a terminated machine returns an error, or the terminated machine as before 2025', () => {
  const { model, ids, pass } = running({ client_token: 'token-1' })
  model.ec2.terminateInstances(region, { ids })
  pass(5 * MINUTE)
  expect(() => launch(model, { client_token: 'token-1' })).toThrow(
    expect.objectContaining({ code: 'IdempotentInstanceTerminated' }),
  )
  model.faults.patch({ token_of_terminated: 'answered' })
  expect(launch(model, { client_token: 'token-1' })).toEqual(ids)
  expect(model.machines()).toHaveLength(1)
})

it('user data is limited to 16 KB before it is encoded', () => {
  const { model } = open()
  const of = (bytes: number) => Buffer.alloc(bytes, 'x').toString('base64')
  expect(launch(model, { user_data: of(16_384) })).toHaveLength(1)
  const refused = expect.objectContaining({ code: 'InvalidUserData.Malformed' })
  expect(() => launch(model, { user_data: of(16_385) })).toThrow(refused)
  expect(() => launch(model, { user_data: '#!/bin/sh {}' })).toThrow(refused)
})

describe('callers of the API', () => {
  it('are rate limited, unlike manual changes', () => {
    const { model } = open()
    model.faults.patch({ request_limits: true })
    const describe = () => model.ec2Api.describeInstances(region, EVERYTHING)
    for (let n = 0; n < 50; n++) describe()
    expect(describe).toThrow(expect.objectContaining({ code: 'RequestLimitExceeded', status: 503 }))
    expect(list(model)).toEqual([])
  })

  it('get errors before the call has any effect', () => {
    const { model, ids } = running()
    model.faults.patch({ server_error_rate: 1 })
    expect(() => model.ec2Api.terminateInstances(region, { ids })).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(InternalError|Unavailable)$/) }),
    )
    expect(only(model)?.state).toBe('running')
  })

  it('get errors on second pages', () => {
    const { model } = running({ count: 9 })
    model.faults.patch({ second_page_error_rate: 1 })
    const page = { ...EVERYTHING, max_results: 5 }
    const { next_token } = model.ec2Api.describeInstances(region, page)
    expect(() => model.ec2Api.describeInstances(region, { ...page, next_token })).toThrow('internal error')
  })
})

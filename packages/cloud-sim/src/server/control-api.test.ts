import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { plantMachines } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { type ControlExtension, controlApi } from './control-api.ts'
import { refusalReason } from './loopback-guard.ts'
import { boundedRequestLog, type RequestLogEntry } from './request-log.ts'

let clock = manualClock()
let model: SimModel
let id = ''
const journal = boundedRequestLog()
const plug: ControlExtension = ({ url, body }) =>
  url.endsWith('/mine') ? { status: 200, body: { given: body } } : null
const ask = (method: string, path: string, body?: object) =>
  controlApi({ model, journal, isServed: () => false, plugs: [plug] }).handle({
    method,
    url: `/sim/v1${path}`,
    body: body === undefined ? '' : JSON.stringify(body),
  })
beforeEach(() => {
  clock = manualClock()
  model = openSimModel({ seed: 7, clock })
  plantMachines(model, 1, { Name: 'a' })
  clock.jumpWallClock(3000)
  id = model.machines()[0]?.instance.instance_id ?? ''
})
const act = (name: string, body?: object) => ask('POST', `/instances/${id}/${name}`, body)

describe('manual changes of machines', () => {
  it('terminate a pending machine', () => {
    expect(act('kill-in-pending').body).toMatchObject({
      state: 'terminated',
      state_reason: 'Server.InsufficientInstanceCapacity',
    })
    expect(act('kill-in-pending')).toMatchObject({ status: 409, body: { message: `${id} is no longer pending` } })
  })

  it('tag, protect, retire, reboot and stop', () => {
    clock.jumpWallClock(1_800_000)
    expect(act('tag', { tags: { Name: 'b', team: 'c' } }).body).toMatchObject({ tags: { Name: 'b', team: 'c' } })
    expect(act('untag', { keys: ['team'] }).body).not.toMatchObject({ tags: { team: 'c' } })
    expect(act('protect').body).toMatchObject({ disable_api_termination: true, disable_api_stop: false })
    expect(act('terminate')).toMatchObject({ status: 409, body: { code: 'OperationNotPermitted' } })
    expect(act('protect', { termination: false, stop: true }).body).toMatchObject({
      disable_api_termination: false,
      disable_api_stop: true,
    })
    expect(act('stop').status).toBe(409)
    act('protect', { stop: false })
    expect(act('retire', { after_seconds: 60 }).body).toMatchObject({
      retires_at: new Date(clock.now() + 60_000).toISOString(),
    })
    expect(act('reboot').body).toMatchObject({ state: 'running', stage: 'NOTHING' })
    expect(act('stop', { force: true }).body).toMatchObject({ state: 'stopping' })
  })

  it.each([
    ['tag', undefined, 'say which in {"tags"'],
    ['untag', {}, 'say which in {"keys"'],
    ['protect', { stop: 'yes' }, 'stop must be true or false'],
    ['retire', { after_seconds: 'soon' }, 'after_seconds is required and must be a number'],
  ])('reject %s with %j and name the missing member', (name, body, message) => {
    expect(act(name, body)).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } })
  })

  it('reject invalid JSON and unknown routes', () => {
    const api = controlApi({ model, journal, isServed: () => false })
    expect(api.handle({ method: 'PATCH', url: '/sim/v1/faults', body: '{' }).status).toBe(400)
    expect(api.handle({ method: 'PATCH', url: '/sim/v1/faults', body: '[1]' }).status).toBe(400)
    expect(act('toString').status).toBe(404)
    expect(ask('GET', '/instances/i-1')).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('/instances') },
    })
  })
})

describe('faults', () => {
  it('can be read, changed, rejected and reset', () => {
    expect(ask('GET', '/faults').body).toMatchObject({ preset: 'plain' })
    expect(ask('PATCH', '/faults', { preset: 'realistic', vcpu_limit: 96 }).body).toMatchObject({
      preset: 'realistic',
      plan: { vcpu_limit: 96, stale_read_rate: 0.02 },
    })
    expect(ask('PATCH', '/faults', { vcpu_limit: 'many' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_faults' },
    })
    expect(ask('POST', '/faults/reset').body).toMatchObject({ preset: 'realistic', plan: { vcpu_limit: null } })
    expect(ask('GET', '/presets').body).toMatchObject({ hostile: { lost_answer_rate: 0.1 } })
    expect(ask('GET', '/info').body).toMatchObject({ preset: 'realistic' })
  })

  it.each([
    [{ action: 'RunInstances', fault: 'explosion' }, 'fault must be one of lost_request'],
    [{ action: 'RunInstances', fault: 'held', times: 0 }, 'times must be'],
    [{ action: 'RunInstances', error: { code: 'X', status: 200 } }, 'from 400 to 599'],
    [{ fault: 'held' }, 'action is required'],
  ])('reject %j for the next calls', (body, message) => {
    expect(ask('POST', '/faults/next', body)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    })
  })

  it('remove and restore capacity', () => {
    const offering = { availability_zone: 'us-east-1a', instance_type: 'm5zn.metal' }
    expect(ask('PUT', '/capacity', { ...offering, available: 0 }).body).toMatchObject({
      scarce: [{ ...offering, available: 0 }],
    })
    expect(() => plantMachines(model, 1, {})).toThrow('sufficient')
    expect(ask('PUT', '/capacity', { ...offering, available: null }).body).toMatchObject({ scarce: [] })
    plantMachines(model, 1, {})
    expect(ask('PUT', '/capacity', { ...offering, availability_zone: 'mars' }).status).toBe(400)
    expect(ask('PUT', '/capacity', { ...offering, instance_type: 'm1' }).status).toBe(400)
    expect(ask('PUT', '/capacity', { ...offering, available: -1 }).status).toBe(400)
    expect(ask('PUT', '/capacity', { ...offering, free: 0 }).status).toBe(400)
  })
})

it('lists machines by region and state', () => {
  const count = (query: string) => Object(ask('GET', `/instances${query}`).body).items.length
  expect([
    count(''),
    count('?region=us-east-1&state=pending'),
    count('?state=running'),
    count('?region=eu-west-1'),
  ]).toEqual([1, 1, 0, 0])
})

it('finds requests by action, region, machine and error', () => {
  const entry: RequestLogEntry = {
    at: '',
    region: 'us-east-1',
    action: 'StopInstances',
    client_token: null,
    instance_ids: ['i-1'],
    attempt: null,
    invocation_id: null,
    status: 200,
    code: null,
    fault: null,
  }
  journal.add(entry)
  journal.add({ ...entry, action: 'RunInstances', region: 'eu-west-1', instance_ids: [], code: 'InternalError' })
  const found = (query: string) =>
    Object(ask('GET', `/requests${query}`).body).items.map((each: RequestLogEntry) => each.action)
  expect(found('')).toEqual(['StopInstances', 'RunInstances'])
  expect(found('?limit=1')).toEqual(['RunInstances'])
  expect(found('?action=StopInstances')).toEqual(['StopInstances'])
  expect(found('?region=eu-west-1')).toEqual(['RunInstances'])
  expect(found('?instance_id=i-1')).toEqual(['StopInstances'])
  expect(found('?code=InternalError')).toEqual(['RunInstances'])
})

it('accepts further routes', () => {
  expect(ask('POST', '/mine', { a: 1 })).toEqual({ status: 200, body: { given: '{"a":1}' } })
})

describe('the guard of the control API', () => {
  const refused = (host: string | undefined, origin?: string, fetchSite?: string) =>
    refusalReason({ host, origin, fetchSite }) !== null

  it("admits requests for this machine's own names", () => {
    expect([
      refused('127.0.0.1:9090'),
      refused('localhost'),
      refused('[::1]:80'),
      refused('localhost:1', 'http://localhost:8080'),
    ]).toEqual([false, false, false, false])
  })

  it('rejects other names and pages of other sites', () => {
    expect(refused('rebound.example:9090')).toBe(true)
    expect(refused(undefined)).toBe(true)
    expect(refused('127.0.0.1.evil.example')).toBe(true)
    expect(refused('localhost', 'https://evil.example')).toBe(true)
    expect(refused('localhost', 'null')).toBe(true)
    expect(refused('localhost', undefined, 'cross-site')).toBe(true)
  })
})

import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const inMinutes = (minutes: number) => toInstant(fleet.clock.now() + minutes * 60_000)
const IDLE_PAUSE = { reason: reason('worker_idle'), by: 'idle', last_resumed_at: null }

/** A worker that the idle policy has stopped. */
async function pausedByPolicy() {
  const { id, pause } = await fleet.running()
  const last_paused_at = toInstant(fleet.clock.now())
  return fleet.edit(id, () => ({
    desired_status: 'STOPPED',
    desired_by: 'idle',
    pause: { ...pause, ...IDLE_PAUSE, last_paused_at, counts: { auto: 1, manual: 0, resumed: 0 } },
  }))
}

describe('start', () => {
  it('holds RUNNING against policies for the snooze period, counted from the request', async () => {
    const { id } = await pausedByPolicy()
    await fleet.clock.advance(1_000)
    const { status, json } = await fleet.act(id, 'start', { reason: 'class' })
    expect(status).toBe(202)
    expect(json).toMatchObject({ desired_status: 'RUNNING', desired_by: 'admin', desired_reason: 'class' })
    expect(json.desired_until).toBe(toInstant(Date.parse(json.updated_at) + 3_600_000))
  })

  it('holds RUNNING for the given time', async () => {
    const { id } = await pausedByPolicy()
    const until = inMinutes(7)
    expect((await fleet.act(id, 'start', { until })).json.desired_until).toBe(until)
  })

  it('ends a pause of a policy, and records the time', async () => {
    const { id } = await pausedByPolicy()
    const { json } = await fleet.act(id, 'start')
    expect(json.pause).toMatchObject({
      reason: null,
      by: null,
      last_resumed_at: json.updated_at,
      counts: { auto: 1, manual: 0, resumed: 1 },
    })
  })

  it('ends a drain, also when RUNNING is desired already', async () => {
    const { id } = await fleet.running()
    expect((await fleet.act(id, 'drain')).json.drain).not.toBeNull()
    const started = await fleet.act(id, 'start')
    expect(started).toMatchObject({ status: 202, json: { drain: null, desired_status: 'RUNNING' } })
    expect((await fleet.act(id, 'start')).json.version).toBe(started.json.version)
  })
})

describe('stop', () => {
  it('holds STOPPED until a person starts it, or until the given time', async () => {
    const { id } = await fleet.running()
    expect((await fleet.act(id, 'stop')).json).toMatchObject({ desired_status: 'STOPPED', desired_until: null })
    const other = await fleet.running()
    const until = inMinutes(30)
    expect((await fleet.act(other.id, 'stop', { until })).json.desired_until).toBe(until)
  })

  it('takes the hold over from a policy that stopped the worker', async () => {
    const { id, version } = await pausedByPolicy()
    const { json } = await fleet.act(id, 'stop', { reason: 'keep it down' })
    expect(json).toMatchObject({ version: version + 1, desired_by: 'admin', desired_reason: 'keep it down' })
    expect(json.pause).toMatchObject({ reason: null, by: null, counts: { auto: 1, manual: 0 } })
    expect((await fleet.act(id, 'stop')).json.version).toBe(version + 1)
  })
})

describe.each(['stop', 'terminate'])('%s', verb => {
  it('refuses to end sessions unless it is forced', async () => {
    const { id } = await fleet.running()
    const { version } = await fleet.reserve(id)
    const refused = await fleet.act(id, verb)
    expect(refused).toMatchObject({ status: 409, json: { code: 'worker_has_sessions' } })
    expect((await fleet.get(id)).version).toBe(version)
    expect(await fleet.act(id, verb, { force: true })).toMatchObject({ status: 202, json: { version: version + 1 } })
  })

  it('ends a drain when it is forced', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'drain')
    await fleet.reserve(id)
    expect((await fleet.act(id, verb, { force: true })).json.drain).toBeNull()
  })
})

it.each(['start', 'stop', 'terminate'])('%s returns 202 without a new version when it is repeated', async verb => {
  const { id } = await pausedByPolicy()
  const until = inMinutes(90)
  for (const body of [{}, { until }]) {
    const first = await fleet.act(id, verb, body)
    const again = await fleet.act(id, verb, body)
    expect([again.status, again.json.version]).toEqual([202, first.json.version])
  }
  expect((await fleet.get(id)).desired_until).toBe(verb === 'terminate' ? null : until)
})

it('start holds a running worker, and again after the hold', async () => {
  const { id } = await fleet.running()
  const first = (await fleet.act(id, 'start')).json
  expect(first.desired_until).toBe(inMinutes(60))
  expect((await fleet.act(id, 'start')).json.version).toBe(first.version)
  await fleet.clock.advance(61 * 60_000)
  expect((await fleet.act(id, 'start')).json.version).toBe(first.version + 1)
})

it.each(['start', 'stop'])('%s is refused with an `until` in the past', async verb => {
  const { id } = await fleet.running()
  const answer = await fleet.act(id, verb, { until: '2020-01-01T00:00:00.000Z' })
  expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
})

describe('terminate', () => {
  it('is refused for a protected worker, also when it is forced', async () => {
    const { id } = await fleet.running({ protected: true })
    for (const force of [false, true]) {
      expect(await fleet.act(id, 'terminate', { force })).toMatchObject({
        status: 409,
        json: { code: 'worker_protected' },
      })
    }
  })

  it.each(['start', 'stop', 'drain', 'refresh', 'repin', 'retry'])('cannot be withdrawn by %s', async verb => {
    const { id } = await fleet.running()
    await fleet.moveTo(id, 'FAILED')
    await fleet.act(id, 'terminate')
    const { version } = await fleet.get(id)
    const body = verb === 'repin' ? { fingerprint: 'ab'.repeat(32) } : {}
    expect(await fleet.act(id, verb, body)).toMatchObject({
      status: 409,
      json: { code: 'worker_terminating' },
    })
    expect(await fleet.get(id)).toMatchObject({ version, desired_status: 'TERMINATED' })
  })
})

it('refuses an invalid time and unknown fields', async () => {
  const { id } = await fleet.running()
  for (const body of [{ until: 'tomorrow' }, { force: 'yes' }, { reason: 'x'.repeat(501) }, { color: 'red' }]) {
    expect(await fleet.act(id, 'stop', body), JSON.stringify(body)).toMatchObject({ status: 400 })
  }
  expect(await fleet.act('w-none', 'stop')).toMatchObject({ status: 404, json: { code: 'not_found' } })
})

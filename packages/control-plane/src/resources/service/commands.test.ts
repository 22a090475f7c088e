import type { ServiceName } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const REPORT = {
  is_leader: false,
  epoch: 0,
  since: null,
  software: '1.0.0',
  queue: { due: 3, active: 1 },
  retries: 2,
  watch: { healthy: true, age_seconds: 0.5 },
  last_sweep: null,
  plan: [],
  problems: [reason('watch_degraded')],
}
const WC = 'worker-controller'
const beat = (instance: string, report: object = {}, service: ServiceName = WC, as: ServiceName = service) =>
  fleet.send('PUT', `services/${service}/instances/${instance}`, {
    headers: fleet.asService(as),
    json: { ...REPORT, ...report },
  })
const lead = (epoch: number, instance_id: string, service: ServiceName = WC) =>
  fleet.send('PUT', `services/${service}/term`, { headers: fleet.asService(service), json: { epoch, instance_id } })
const service = async (name: ServiceName = WC) =>
  (await fleet.send('GET', 'services', { as: 'user' })).json.items.find(
    (each: { service: string }) => each.service === name,
  )
const leading = (epoch: number) => ({ is_leader: true, epoch, since: toInstant(fleet.clock.now()) })

describe('heartbeats', () => {
  it('show every instance with its report, without its plan', async () => {
    expect(await beat('a')).toMatchObject({ status: 200, json: { triggers: 0, resignations: 0 } })
    await beat('b', { retries: 7 })
    const { plan: _, ...shown } = REPORT
    const at = toInstant(fleet.clock.now())
    expect((await service()).instances).toEqual([
      { ...shown, id: `${WC}:a`, service: WC, instance_id: 'a', seen_at: at },
      { ...shown, retries: 7, id: `${WC}:b`, service: WC, instance_id: 'b', seen_at: at },
    ])
    await beat('a', { retries: 9 })
    expect((await service()).instances).toMatchObject([{ retries: 9 }, { retries: 7 }])
  })

  it('list every controller, also without a heartbeat', async () => {
    const { items } = (await fleet.send('GET', 'services')).json
    expect(items).toEqual(
      ['resource-scheduler', 'lablet-controller', WC].map(name => ({
        service: name,
        leader: null,
        term: null,
        last_seen_at: null,
        instances: [],
      })),
    )
  })

  it('count as missing after thirty seconds', async () => {
    await beat('a')
    await fleet.clock.advance(10_000)
    await beat('b')
    const names = async () => (await service()).instances.map((each: { instance_id: string }) => each.instance_id)
    await fleet.clock.advance(20_000)
    expect(await names()).toEqual(['a', 'b'])
    await fleet.clock.advance(1)
    expect(await names()).toEqual(['b'])
    await beat('a')
    expect(await names()).toEqual(['a', 'b'])
  })

  it('from before the clock was set back no longer count', async () => {
    await beat('a')
    await beat('b')
    fleet.clock.jumpWallClock(-3_600_000)
    await beat('b')
    expect((await service()).instances).toMatchObject([{ instance_id: 'b' }])
  })

  it('are accepted from the service itself only', async () => {
    const foreign = await beat('a', {}, WC, 'resource-scheduler')
    expect(foreign).toMatchObject({ status: 403, json: { code: 'forbidden' } })
    const person = await fleet.send('PUT', `services/${WC}/instances/a`, { json: REPORT })
    expect(person.status).toBe(403)
    expect((await service()).instances).toEqual([])
  })

  it('are refused when they are inconsistent', async () => {
    for (const wrong of [{ epoch: -1 }, { queue: {} }, { plan: [{}] }, { color: 'red' }])
      expect((await beat('a', wrong)).status, JSON.stringify(wrong)).toBe(400)
  })

  it('publish no change', async () => {
    await beat('a')
    const { revision } = (await fleet.send('GET', 'workers')).json
    await beat('a', { retries: 3 })
    expect((await fleet.send('GET', 'workers')).json.revision).toBe(revision)
  })
})

describe('the leader', () => {
  it('is the instance that leads in the newest term', async () => {
    await lead(4, 'a')
    await beat('a', leading(4))
    expect((await service()).leader).toMatchObject({ instance_id: 'a', epoch: 4 })
    await lead(5, 'b')
    expect(await service()).toMatchObject({ leader: null, term: { epoch: 5, instance_id: 'b' } })
    await beat('b', leading(5))
    expect((await service()).leader).toMatchObject({ instance_id: 'b', epoch: 5 })
    await beat('b')
    expect((await service()).leader).toBeNull()
  })

  it('publishes its plan; a superseded leader does not', async () => {
    const plan = (action: string) => [
      { resource: 'worker:w-1', action, because: textReason('it is idle'), due_at: null },
    ]
    await lead(4, 'a')
    await beat('a', { ...leading(4), plan: plan('old') })
    await lead(5, 'b')
    await beat('b', { ...leading(5), plan: plan('stop') })
    await beat('c', { plan: plan('standby') })
    await lead(1, 's', 'resource-scheduler')
    await beat('s', { ...leading(1), plan: plan('assign') }, 'resource-scheduler')
    const { json } = await fleet.send('GET', 'fleet/plan', { as: 'operator' })
    expect(json).toEqual({
      at: toInstant(fleet.clock.now()),
      items: [
        { service: 'resource-scheduler', ...plan('assign')[0] },
        { service: WC, ...plan('stop')[0] },
      ],
    })
    await fleet.clock.advance(30_001)
    expect((await fleet.send('GET', 'fleet/plan')).json.items).toEqual([])
  })
})

describe.each([
  ['trigger', 'triggers'],
  ['resign', 'resignations'],
] as const)('%s', (verb, counter) => {
  it('reaches the leader with its next heartbeat, and by a change of its service', async () => {
    const stop = fleet.run()
    await lead(1, 'a')
    const ask = () => fleet.send('POST', `services/${WC}/${verb}`, { as: 'operator', json: { reason: 'now' } })
    expect(await ask()).toMatchObject({ status: 202, json: { service: WC, requested: true } })
    await ask()
    expect((await beat('a', leading(1))).json).toEqual({ triggers: 0, resignations: 0, [counter]: 2 })
    await fleet.clock.advance(0)
    const { entries } = await fleet.changeKeys.source('/lcm/services/').list(new AbortController().signal)
    const { version } = (await service()).term
    expect(entries).toMatchObject([{ key: `/lcm/services/${WC}`, hint: { version } }])
    expect((await fleet.journal('audit', `service:${WC}`))[0]?.body).toMatchObject({ action: verb, reason: 'now' })
    await stop()
  })

  it('is accepted for a service that never led, and returns 404 for an unknown one', async () => {
    expect((await fleet.send('POST', `services/${WC}/${verb}`)).status).toBe(202)
    expect((await beat('a')).json[counter]).toBe(1)
    const none = await fleet.send('POST', `services/unknown/${verb}`)
    expect(none).toMatchObject({ status: 404, json: { code: 'not_found' } })
    expect(none.json.detail).toContain(WC)
  })
})

describe('a fleet on hold', () => {
  const isHeld = async () => (await fleet.scaling())?.held_since !== null
  const swept = (more: object = {}) =>
    beat('a', { ...leading(2), queue: { due: 0, active: 0 }, last_sweep: toInstant(fleet.clock.now()), ...more })

  beforeEach(async () => {
    await lead(2, 'a')
    await fleet.clock.advance(1_000)
    await fleet.holdFleet()
    await fleet.clock.advance(1_000)
  })

  it('is released by the leader of the worker-controller after a full sweep', async () => {
    expect(await isHeld()).toBe(true)
    await swept()
    expect(await isHeld()).toBe(false)
  })

  it.each<[string, object]>([
    ['without a sweep', { last_sweep: null }],
    ['with an earlier sweep', { last_sweep: '2026-01-01T00:00:01.000Z' }],
    ['that is a standby', { is_leader: false }],
    ['of an older term', { epoch: 1 }],
    ['with queued work', { queue: { due: 1, active: 0 } }],
    ['with active work', { queue: { due: 0, active: 1 } }],
  ])('is not released by a leader %s', async (_, more) => {
    await swept(more)
    expect(await isHeld()).toBe(true)
  })

  it('is not released by a sweep that started at the same moment', async () => {
    await swept({ last_sweep: (await fleet.scaling())?.held_since })
    expect(await isHeld()).toBe(true)
  })

  it('is not released by another service', async () => {
    await lead(2, 's', 'resource-scheduler')
    const report = { ...leading(2), queue: { due: 0, active: 0 }, last_sweep: toInstant(fleet.clock.now()) }
    await beat('s', report, 'resource-scheduler')
    expect(await isHeld()).toBe(true)
  })
})

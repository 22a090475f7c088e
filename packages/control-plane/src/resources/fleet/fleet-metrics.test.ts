import { degraded, down } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { StoreError } from '@lcm/store/store'
import { aControlPlane, METAL } from '@lcm/testkit/a-control-plane'
import { aSession } from '@lcm/testkit/test-data-builders'
import { beforeEach, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, cost_per_hour_usd: 3.6 } })
})

const metrics = async () => String((await fleet.send('GET', '/metrics', { as: 'user' })).body)
const figure = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find(line => line.startsWith(`${series} `))
      ?.slice(series.length + 1) ?? Number.NaN,
  )

it('reports workers by status and their cost, beside process metrics', async () => {
  const { id } = await fleet.running()
  await fleet.edit(id, () => ({ service_status: 'AVAILABLE' }))
  await fleet.running()
  const stopped = await fleet.running()
  await fleet.act(stopped.id, 'stop')
  await fleet.moveTo(stopped.id, 'STOPPING', 'STOPPED')
  await fleet.clock.advance(3_600_000)
  const text = await metrics()
  expect(text).toMatch(/^# metrics\n/)
  expect(figure(text, 'control_plane_store_up')).toBe(1)
  expect(figure(text, 'fleet_workers{status="RUNNING"}')).toBe(2)
  expect(figure(text, 'fleet_workers{status="STOPPED"}')).toBe(1)
  expect(figure(text, 'fleet_workers{status="FAILED"}')).toBe(0)
  expect(figure(text, 'fleet_capacity_usable{resource="nodes"}')).toBe(5)
  expect(figure(text, 'fleet_capacity_reserved{resource="nodes"}')).toBe(0)
  expect(figure(text, 'fleet_workers_closed')).toBe(1)
  expect(figure(text, 'fleet_cost_per_hour_usd{cause="idle"}')).toBe(7.2)
  expect(figure(text, 'fleet_cost_per_hour_usd{cause="disk"}')).toBeCloseTo((3 * 64 * 0.08) / 730, 9)
  expect(figure(text, 'fleet_workers_unknown_price')).toBe(0)
  expect(figure(text, 'fleet_spent_week_usd{cause="idle"}')).toBeGreaterThan(7.2)
  expect(figure(text, 'fleet_saved_week_usd')).toBe(0)
})

it('counts license leaks until they are resolved', async () => {
  const { id: worker_id } = await fleet.running()
  const leak = { worker_id, udi: null, hostname: null, product: null, reason: textReason('no answer for two hours') }
  const { json } = await fleet.fenced('POST', 'license-leaks', leak)
  expect(figure(await metrics(), 'fleet_license_leaks')).toBe(1)
  await fleet.send('POST', `license-leaks/${json.id}/resolve`, { json: { reason: 'phoned' } })
  expect(figure(await metrics(), 'fleet_license_leaks')).toBe(0)
})

it('counts the seats of license pools, and the workers that wait for one', async () => {
  const pool = { product: 'CML_Enterprise', seats: 1, token: 'secret' }
  await fleet.send('POST', 'license-pools', { json: pool })
  const seats = (text: string, state: string) =>
    figure(text, `fleet_license_seats{product="CML_Enterprise",state="${state}"}`)
  expect(seats(await metrics(), 'free')).toBe(1)
  await fleet.create({ license: { product: 'CML_Enterprise' } })
  await fleet.create({ license: { product: 'CML_Enterprise' } })
  const text = await metrics()
  expect([seats(text, 'free'), seats(text, 'held'), seats(text, 'leaked')]).toEqual([0, 1, 0])
  expect(figure(text, 'fleet_license_seats_missing{product="CML_Enterprise"}')).toBe(1)
})

it('reports an unreachable store, and still reports the process', async () => {
  const store = openSqliteStore(':memory:')
  const gone = async (): Promise<never> => {
    throw new StoreError('the store is gone')
  }
  const plane = aControlPlane({ store: { ...store, collection: kind => ({ ...store.collection(kind), list: gone }) } })
  const text = String((await plane.send('GET', '/metrics')).body)
  expect(text).toMatch(/^# metrics\n/)
  expect(figure(text, 'control_plane_store_up')).toBe(0)
  expect(text).not.toContain('fleet_workers')
})

it('counts open event streams', async () => {
  const leave = new AbortController()
  const { body } = await fleet.send('GET', 'events', { signal: leave.signal })
  if (body === null || typeof body === 'string') throw new Error('that is no stream')
  const stream = body[Symbol.asyncIterator]()
  await stream.next()
  expect(figure(await metrics(), 'control_plane_event_streams')).toBe(1)
  leave.abort()
  await stream.return?.()
  expect(figure(await metrics(), 'control_plane_event_streams')).toBe(0)
})

it('counts sessions that their owners can not use, by cause, and workers', async () => {
  const at = toInstant(fleet.clock.now())
  const slot = { start: at, end: toInstant(fleet.clock.now() + 3_600_000) }
  const limit = reason('region_worker_limit', { region: 'us-east-1', limit: 2 })
  const stopped = down(reason('lab_stopped_on_cml', { state: 'STOPPED' }), at)
  const silent = degraded(reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }), at)
  const late = { status: 'PENDING', waiting_reason: limit, health: down(limit, at) } as const
  const end = { from: 'RUNNING', to: 'STOPPING', at, because: reason('worker_deleted') } as const
  await fleet.put('sessions', aSession({ id: 'ls-1', timeslot: slot, status: 'RUNNING', health: stopped }))
  await fleet.put('sessions', aSession({ id: 'ls-2', timeslot: slot, status: 'RUNNING', health: silent }))
  await fleet.put(
    'sessions',
    aSession({ id: 'ls-3', timeslot: slot, ...late }),
    aSession({ id: 'ls-4', timeslot: slot, ...late }),
  )
  const tomorrow = { start: toInstant(fleet.clock.now() + 86_400_000), end: toInstant(fleet.clock.now() + 90_000_000) }
  await fleet.put('sessions', aSession({ id: 'ls-6', timeslot: tomorrow, ...late }))
  await fleet.put('sessions', aSession({ id: 'ls-5', timeslot: slot, status: 'TERMINATED', state_history: [end] }))
  const { id } = await fleet.running()
  await fleet.edit(id, () => ({ status: 'FAILED' }))
  const text = await metrics()
  expect(figure(text, 'fleet_sessions_unhealthy{health="DOWN",cause="lab_stopped_on_cml"}')).toBe(1)
  expect(figure(text, 'fleet_sessions_unhealthy{health="DEGRADED",cause="worker_not_serving"}')).toBe(1)
  expect(figure(text, 'fleet_sessions_unhealthy{health="DOWN",cause="region_worker_limit"}')).toBe(3)
  expect(figure(text, 'fleet_sessions_unplaced')).toBe(2)
  expect(figure(text, 'fleet_sessions_lost_hour')).toBe(1)
  expect(figure(text, 'fleet_workers_unavailable')).toBe(1)
  await fleet.clock.advance(3_600_000)
  expect(figure(await metrics(), 'fleet_sessions_lost_hour')).toBe(0)
})

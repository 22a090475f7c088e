import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { METAL } from '@lcm/testkit/a-control-plane'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet, RESERVATION } from '../../testing/a-fleet.ts'

const HOUR_MS = 3_600_000
/** 64 GB, per hour. */
const DISK = (64 * 0.08) / 730
let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  // 3.6 USD an hour is a tenth of a cent a second, so that the seconds of each transition can be counted.
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, cost_per_hour_usd: 3.6 } })
})

const summary = async (query = '') => (await fleet.send('GET', `fleet/summary?${query}`, { as: 'user' })).json
const hours = (count: number) => fleet.clock.advance(count * HOUR_MS)
const pauseByIdle = (id: string) =>
  fleet.fenced('POST', `workers/${id}/idle-checks`, { evidence: { last_activity_at: null, running_nodes: 0 } })

/** Reservations change; the next write through the API sees it. */
async function serve(id: string, reservations: Worker['reservations']) {
  const { labels } = await fleet.edit(id, () => ({ reservations }))
  await fleet.send('PATCH', `workers/${id}`, { json: { labels: { busy: labels.busy === 'yes' ? 'no' : 'yes' } } })
}

describe('cost', () => {
  it('adds up over a life: boot, idle, session, idle, stopped by policy, boot, idle', async () => {
    const { id } = await fleet.create()
    await fleet.edit(id, () => ({ launch: anAttempt() }))
    await hours(1)
    await fleet.moveTo(id, 'PROVISIONING')
    await hours(1)
    await fleet.moveTo(id, 'STARTING')
    await hours(0.5)
    await fleet.moveTo(id, 'RUNNING')
    await hours(1)
    await serve(id, { 'ls-1': RESERVATION })
    await hours(2)
    await serve(id, {})
    await hours(4)
    expect((await pauseByIdle(id)).json.verdict).toBe('pause')
    await fleet.moveTo(id, 'STOPPING')
    await hours(0.25)
    await fleet.moveTo(id, 'STOPPED')
    await hours(10)
    const paused = (await summary()).cost
    await fleet.act(id, 'start')
    await hours(1)
    await fleet.moveTo(id, 'STARTING')
    await hours(0.5)
    await fleet.moveTo(id, 'RUNNING')
    await hours(1)
    const { cost } = await summary()
    // A transition takes a second, which counts for the new status.
    const boot = 2 * (0.5 * 3.6 + 0.001)
    const idle = 0.001 + (1 + 4) * 3.6 + 0.001 + 3.6
    const session = 2 * 3.6
    const saved = 10 * 3.6 + 0.001
    expect(paused.saved_usd).toBeCloseTo(saved, 5)
    expect(cost.saved_usd).toBeCloseTo(saved, 5)
    expect(cost.by_cause.boot).toBeCloseTo(boot, 5)
    expect(cost.by_cause.idle).toBeCloseTo(idle, 5)
    expect(cost.by_cause.session).toBeCloseTo(session, 5)
    expect(cost.by_cause).toMatchObject({ drain: 0, failed: 0 })
    // The disk costs from the launch on, also while the machine is stopped.
    const { state_history } = await fleet.get(id)
    const launched = state_history.flatMap(({ to, at }) => (to === 'PROVISIONING' ? toMs(at) : []))
    const disk = (DISK * (fleet.clock.now() - Number(launched[0]))) / HOUR_MS
    expect(disk).toBeGreaterThan(21 * DISK)
    expect(cost.by_cause.disk).toBeCloseTo(disk, 9)
    expect(cost.spent_usd).toBeCloseTo(boot + idle + session + disk, 5)
    expect(cost.per_hour_usd).toBeCloseTo(3.6 + DISK, 5)
    expect((await fleet.get(id)).cost.spent_usd).toBeCloseTo(boot + idle + session + disk, 5)
  })

  it('is not saved when a person stops a worker, nor after a person takes it over', async () => {
    const mine = await fleet.running()
    await fleet.act(mine.id, 'stop')
    await fleet.moveTo(mine.id, 'STOPPING', 'STOPPED')
    await hours(5)
    expect((await summary()).cost).toMatchObject({ saved_usd: 0, per_hour_usd: expect.closeTo(DISK, 9) })
    const idle = await fleet.running()
    await hours(2)
    await pauseByIdle(idle.id)
    await fleet.moveTo(idle.id, 'STOPPING', 'STOPPED')
    await hours(1)
    await fleet.act(idle.id, 'stop')
    await hours(4)
    expect((await summary()).cost.saved_usd).toBeCloseTo(3.6 + 0.001, 5)
  })

  it('covers the last seven days, or the time since `since`', async () => {
    await fleet.running()
    await hours(24 * 10)
    expect((await summary()).cost.spent_usd).toBeCloseTo(7 * 24 * (3.6 + DISK), 2)
    expect((await summary()).cost.since).toBe(toInstant(fleet.clock.now() - 7 * 24 * HOUR_MS))
    const since = toInstant(fleet.clock.now() - 2 * HOUR_MS)
    expect((await summary(`since=${since}`)).cost).toMatchObject({
      since,
      spent_usd: expect.closeTo(7.2 + 2 * DISK, 5),
    })
  })

  it('includes only the part of an interval after `since`', async () => {
    const { id } = await fleet.running()
    await hours(4)
    await fleet.act(id, 'stop')
    await fleet.moveTo(id, 'STOPPING')
    const since = toInstant(fleet.clock.now() - HOUR_MS)
    expect((await summary(`since=${since}`)).cost.spent_usd).toBeCloseTo(3.6 - 0.001 + DISK, 5)
    const later = toInstant(fleet.clock.now())
    expect((await summary(`since=${later}`)).cost.spent_usd).toBe(0)
  })

  it('includes workers whose record is deleted', async () => {
    const { id } = await fleet.running()
    await hours(3)
    await fleet.act(id, 'terminate')
    await fleet.moveTo(id, 'TERMINATING', 'TERMINATED')
    const { cost } = await summary()
    await fleet.send('DELETE', `workers/${id}`)
    expect((await summary()).cost.spent_usd).toBeCloseTo(cost.spent_usd, 9)
    expect(cost.by_cause.drain).toBeCloseTo(0.001, 5)
  })

  it('includes all pages of intervals', async () => {
    const entries = Array.from({ length: 2_500 }, (_, n) => ({
      id: `cost-${n}`,
      stream: 'cost',
      subject: 'worker:w-1',
      at: toInstant(fleet.clock.now() - (n % 50) * 1_000),
      body: {
        status: 'RUNNING',
        cause: 'idle',
        from: toInstant(fleet.clock.now() - HOUR_MS),
        to: toInstant(fleet.clock.now()),
        usd: 2,
        saved_usd: 1,
      },
    }))
    await fleet.store.journal.append(entries)
    expect((await summary()).cost).toMatchObject({ spent_usd: 5_000, saved_usd: 2_500 })
  })

  it('is listed by day, and the days add up to the total', async () => {
    const { id } = await fleet.running()
    await hours(30)
    await fleet.act(id, 'stop')
    await fleet.moveTo(id, 'STOPPING')
    const { cost } = await summary()
    const sum = cost.by_day.reduce((total: number, day: { spent_usd: number }) => total + day.spent_usd, 0)
    expect(cost.spent_usd).toBeGreaterThan(30 * 3.6)
    expect(sum).toBeCloseTo(cost.spent_usd, 9)
    expect(cost.by_day).toHaveLength(8)
    expect(cost.by_day[0].day).toBe(cost.since.slice(0, 10))
    expect(cost.by_day.at(-1).day).toBe(toInstant(fleet.clock.now()).slice(0, 10))
    expect(cost.by_day.filter((day: { spent_usd: number }) => day.spent_usd > 0).length).toBeGreaterThan(1)
  })

  it('refuses an invalid `since`', async () => {
    expect((await fleet.send('GET', 'fleet/summary?since=monday')).status).toBe(400)
  })
})

describe('numbers', () => {
  it('are 0 for an empty fleet', async () => {
    expect(await summary()).toMatchObject({
      at: toInstant(fleet.clock.now()),
      workers: { total: 0, idle: 0, needs_attention: 0, by_status: { RUNNING: 0, TERMINATED: 0 } },
      capacity: { declared: { cpu_cores: 0, nodes: 0 }, reserved: { cpu_cores: 0, nodes: 0 } },
      cost: { per_hour_usd: 0, spent_usd: 0, saved_usd: 0 },
    })
  })

  it('count workers by status, idle ones and those that need attention', async () => {
    const { id: pending } = await fleet.create()
    await fleet.running()
    const idle = await fleet.running()
    const failed = await fleet.running()
    await fleet.moveTo(failed.id, 'FAILED')
    const unknown = await fleet.running()
    await fleet.moveTo(unknown.id, 'UNKNOWN')
    await hours(2)
    await fleet.send('PATCH', 'settings', { json: { min_workers: 9 } })
    await pauseByIdle(idle.id)
    await fleet.act(pending, 'terminate')
    await fleet.moveTo(pending, 'TERMINATED')
    const { workers } = await summary()
    expect(workers).toMatchObject({ total: 4, idle: 1, needs_attention: 2 })
    expect(workers.by_status).toEqual({
      PENDING: 0,
      PROVISIONING: 0,
      STARTING: 0,
      RUNNING: 2,
      DRAINING: 0,
      STOPPING: 0,
      STOPPED: 0,
      TERMINATING: 0,
      TERMINATED: 1,
      FAILED: 1,
      UNKNOWN: 1,
    })
  })

  it('add up capacity and reservations of running workers', async () => {
    await fleet.create()
    const { id } = await fleet.running()
    const other = await fleet.running()
    for (const worker of [id, other.id]) await fleet.edit(worker, () => ({ service_status: 'AVAILABLE' }))
    const reserved = { cpu_cores: 4, memory_gb: 8, storage_gb: 10, nodes: 2 }
    const reservations = { 'ls-1': { ...reserved, ...heldFrom('2026-01-01T00:00:00.000Z') } }
    await fleet.edit(id, ({ capacity }) => ({ reservations, capacity: { ...capacity, reserved } }))
    expect((await summary()).capacity).toEqual({
      declared: { cpu_cores: 96, memory_gb: 384, storage_gb: 400, nodes: 200 },
      usable: { cpu_cores: 96, memory_gb: 384, storage_gb: 400, nodes: 10 },
      reserved,
      closed_workers: 0,
    })
    await fleet.edit(id, () => ({ cordoned: true }))
    expect((await summary()).capacity).toMatchObject({ usable: { nodes: 5 + 2 }, closed_workers: 1 })
  })
})

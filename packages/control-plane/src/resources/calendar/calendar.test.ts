import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { SessionStatus } from '@lcm/domain/session/lablet-session'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Store } from '@lcm/store/store'
import { METAL, storedDefinition } from '@lcm/testkit/a-control-plane'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DEFINITION = aDefinition({ id: 'ld-1', name: 'bgp' })

let fleet: Fleet
beforeEach(async () => {
  fleet = aFleet()
  await fleet.send('POST', 'worker-templates', { json: { ...METAL, cost_per_hour_usd: 4 } })
  await fleet.put('definitions', storedDefinition(DEFINITION))
})

const read = async (path: string) => (await fleet.send('GET', path, { as: 'operator' })).json
const inHours = (hours: number) => toInstant(fleet.clock.now() + hours * HOUR_MS)
const slot = (from: number, until: number) => ({ start: inHours(from), end: inHours(until) })
const definition = { id: 'ld-1', name: 'bgp', version: '1.0.0' }

describe('the calendar', () => {
  it('has open sessions within the days, their definitions, workers, templates, settings and prices', async () => {
    const { id } = await fleet.running()
    await fleet.put('sessions', aSession({ id: 'ls-1', definition, timeslot: slot(20, 22), status: 'PENDING' }))
    await fleet.put('sessions', aSession({ id: 'ls-2', definition, timeslot: slot(40, 42), status: 'PENDING' }))
    await fleet.put('sessions', aSession({ id: 'ls-3', definition, timeslot: slot(2, 3), status: 'ARCHIVED' }))
    const calendar = await read('calendar?days=1')
    expect(calendar).toMatchObject({
      at: inHours(0),
      until: inHours(24),
      region: 'us-east-1',
      sessions: [{ id: 'ls-1', timeslot: slot(20, 22) }],
      definitions: [{ id: 'ld-1', name: 'bgp', needs: DEFINITION.needs }],
      workers: [{ id, status: 'RUNNING', cost_per_hour_usd: 4 }],
      templates: [{ name: 'metal' }],
      settings: { max_workers_per_region: 10 },
      timings: [],
      disk_usd_per_gb_month: 0.08,
    })
    expect(calendar.sessions[0]).not.toHaveProperty('owner')
    expect(calendar.definitions[0]).not.toHaveProperty('topology')
    expect((await read('calendar?days=2')).sessions).toHaveLength(2)
  })

  it('is one state of the fleet: what changes while it is read is read again', async () => {
    const base = openSqliteStore(':memory:')
    let meanwhile: (() => Promise<unknown>) | null = null
    const collection: Store['collection'] = kind => {
      const inner = base.collection(kind)
      return {
        ...inner,
        async list(query) {
          const found = await inner.list(query)
          const change = kind.name === 'session' ? meanwhile : null
          if (change !== null) meanwhile = null
          await change?.()
          return found
        },
      }
    }
    fleet = aFleet({ store: { ...base, collection } })
    await fleet.send('POST', 'worker-templates', { json: METAL })
    await fleet.put('definitions', storedDefinition(DEFINITION))
    meanwhile = async () => {
      await fleet.put('sessions', aSession({ id: 'ls-1', definition, timeslot: slot(2, 3), status: 'PENDING' }))
      await fleet.create()
    }
    const { sessions, workers } = await read('calendar')
    expect([sessions.length, workers.length]).toEqual([1, 1])
  })

  it('is bounded', async () => {
    expect((await fleet.send('GET', 'calendar?days=32', { as: 'operator' })).status).toBe(400)
  })
})

describe('what ran', () => {
  const change = (to: SessionStatus, hours: number) => ({
    from: null,
    to,
    at: inHours(hours),
    because: reason('timeslot_started'),
  })
  /** A session from one time to the other, whose lab was started five minutes before. */
  const ended = (id: string, from: number, until: number, more: object = {}) =>
    aSession({
      id,
      definition,
      timeslot: slot(from, until),
      status: 'ARCHIVED',
      state_history: [change('INSTANTIATING', from - 5 / 60), change('READY', from), change('STOPPED', until)],
      ...more,
    })

  it('is labs by what they need, and the machines that were paid', async () => {
    const { id } = await fleet.running()
    await fleet.clock.advance(10 * HOUR_MS)
    await fleet.put('sessions', ended('ls-1', -8, -6), ended('ls-2', -7, -5))
    const other = { cpu_cores: 9, memory_gb: 9, storage_gb: 9, node_count: 2 }
    await fleet.put('sessions', ended('ls-3', -3, -2, { needs: other }))
    const up = { status: 'RUNNING', state_history: [change('INSTANTIATING', -1), change('READY', -1)] }
    await fleet.put('sessions', ended('ls-4', -1, 1, up), ended('ls-5', 3, 4, { status: 'PENDING', state_history: [] }))
    const usage = await read('fleet/usage')
    expect(usage).toMatchObject({
      at: inHours(0),
      since: inHours(-7 * 24),
      machine_usd: expect.closeTo(40, 1),
      machines: [
        { template_name: 'metal', usd_per_hour: 4, running_at_start: 0, capacity: { cpu_cores: 48, max_nodes: 5 } },
      ],
    })
    const times = (from: number, until: number) => [from, until].map(hours => fleet.clock.now() + hours * HOUR_MS)
    const shown = usage.labs.map((lab: { needs: object; times: number[][] }) => [lab.needs, lab.times])
    expect(shown).toEqual([
      [aSession().needs, [times(-8 - 5 / 60, -6), times(-7 - 5 / 60, -5), times(-1, 0)]],
      [other, [times(-3 - 5 / 60, -2)]],
    ])
    expect(JSON.stringify(usage)).not.toMatch(/ls-1|admin/)
    expect((await fleet.get(id)).status).toBe('RUNNING')
  })

  it('is cut at the start of the period, at which machines ran already', async () => {
    await fleet.running()
    await fleet.clock.advance(10 * HOUR_MS)
    await fleet.put('sessions', ended('ls-1', -8, -1), ended('ls-2', -8, -6))
    const { labs, machines, machine_usd } = await read(`fleet/usage?since=${inHours(-4)}`)
    expect(labs).toMatchObject([{ times: [[fleet.clock.now() - 4 * HOUR_MS, fleet.clock.now() - HOUR_MS]] }])
    expect(machines).toMatchObject([{ running_at_start: 1 }])
    expect(machine_usd).toBeCloseTo(16)
  })

  it('goes back as far as ended sessions are kept', async () => {
    await fleet.send('PATCH', 'settings', { json: { journal_retention_days: 2 } })
    const { since } = await read(`fleet/usage?since=${toInstant(fleet.clock.now() - 9 * DAY_MS)}`)
    expect(since).toBe(inHours(-48))
  })
})

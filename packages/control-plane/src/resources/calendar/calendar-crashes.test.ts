import { toInstant } from '@lcm/domain/instant'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { describe, expect, it } from 'vitest'
import { offerMachines, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crashingStore } from '../../testing/crashing-store.ts'

const SEATS = 4
/** One machine may be bought, with a license for 10 sessions. */
const CAPACITY = 10
const HOUR_MS = 3_600_000
const KEY = { 'idempotency-key': 'one' }

const CONFIG = {
  version: '0.0.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: ['us-east-1'],
  settings: { max_workers_per_region: 1, quota_author_core_hours_per_week: 1_000 },
} as const

interface Crash {
  readonly call: number
  readonly when: 'before' | 'after'
}

/** A calendar with one session, and a process that dies within a request. */
async function anInterrupted(crash: Crash, request: (plane: AControlPlane, id: string) => Promise<unknown>) {
  const store = openSqliteStore(':memory:')
  const replica = (seed: number, of = store) =>
    aControlPlane({ store: of, config: CONFIG, randomBytes: seededRandom(seed).bytes })
  const first = replica(1)
  await offerMachines(first)
  await first.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
  const { id } = (await bookSeats(first, 1)).json.items[0]
  const dying = crashingStore(store, crash)
  await request(replica(2, dying), id)
  return { survivor: replica(3), id, hasCrashed: dying.hasCrashed() }
}

const START = toInstant(Date.parse('2026-01-01T10:00:00.000Z'))
const bookSeats = (plane: AControlPlane, seats: number, headers: Record<string, string> = {}) =>
  plane.send('POST', 'lablet-sessions/batch', {
    as: 'author',
    headers,
    json: { definition: 'bgp', start: START, duration_minutes: 30, seats },
  })
const extend = (plane: AControlPlane, id: string, headers: Record<string, string> = {}) =>
  plane.send('POST', `lablet-sessions/${id}/extend`, { as: 'author', headers, json: { minutes: 20 } })

/** The number of store calls until a request no longer dies. */
async function eachCrash(check: (crash: Crash) => Promise<boolean>): Promise<number> {
  for (let call = 1; ; call += 1)
    for (const when of ['before', 'after'] as const) if (!(await check({ call, when }))) return call
}

/** How many seats the calendar still promises at the time. */
async function freeSeats(plane: AControlPlane): Promise<number> {
  const { items } = (await plane.send('GET', 'lablet-definitions?name=bgp')).json
  const json = { seats: 20, start: START, duration_minutes: 30 }
  return (await plane.send('POST', `lablet-definitions/${items[0].id}/admission-preview`, { json })).json.free_seats
}

describe('a process that dies at any store call of a booking', () => {
  it('leaves all seats or none, and the same request books them once', async () => {
    const outcomes = new Set<number>()
    const calls = await eachCrash(async crash => {
      const { survivor, hasCrashed } = await anInterrupted(crash, plane => bookSeats(plane, SEATS, KEY))
      const free = await freeSeats(survivor)
      const found = (await survivor.all('sessions')).length - 1
      expect([0, SEATS], JSON.stringify(crash)).toContain(found)
      expect(free, JSON.stringify(crash)).toBe(CAPACITY - 1 - found)
      outcomes.add(found)
      await survivor.clock.advance(31_000)
      const repeated = await bookSeats(survivor, SEATS, KEY)
      expect(repeated.status, JSON.stringify(crash)).toBe(201)
      expect(repeated.json.items).toHaveLength(SEATS)
      expect(await survivor.all('sessions')).toHaveLength(SEATS + 1)
      expect(await freeSeats(survivor)).toBe(CAPACITY - 1 - SEATS)
      return hasCrashed
    })
    expect(calls).toBeGreaterThan(20)
    expect(outcomes).toEqual(new Set([0, SEATS]))
  }, 120_000)

  it('leaves no entry in the ledger of its owner that no session needs', async () => {
    await eachCrash(async crash => {
      const { survivor, hasCrashed } = await anInterrupted(crash, plane => bookSeats(plane, SEATS))
      const stop = survivor.run()
      await survivor.clock.advance(130_000)
      await stop()
      const sessions = (await survivor.all('sessions')).map(({ id }) => id).toSorted()
      expect(Object.keys((await survivor.get('quotas', 'author')).ledger).toSorted()).toEqual(sessions)
      return hasCrashed
    })
  }, 120_000)
})

describe('a process that dies at any store call of an extension', () => {
  it('extends the session once or not at all', async () => {
    const calls = await eachCrash(async crash => {
      const { survivor, id, hasCrashed } = await anInterrupted(crash, (plane, booked) => extend(plane, booked, KEY))
      await survivor.clock.advance(31_000)
      expect((await extend(survivor, id, KEY)).status, JSON.stringify(crash)).toBe(202)
      const { timeslot, admission } = await survivor.get('sessions', id)
      expect(Date.parse(timeslot.end) - Date.parse(START)).toBe((50 * HOUR_MS) / 60)
      expect(Date.parse(admission.span?.until ?? '') - Date.parse(timeslot.end)).toBe((2 * HOUR_MS) / 60)
      return hasCrashed
    })
    expect(calls).toBeGreaterThan(15)
  }, 120_000)
})

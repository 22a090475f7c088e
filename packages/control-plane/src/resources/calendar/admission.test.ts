import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const HUGE = { cpu_cores: 1000, memory_gb: 1, storage_gb: 1, node_count: 2 }

let course: Course
/** One machine may be bought, with a license for 10 sessions of two nodes. */
beforeEach(async () => {
  course = aCourse()
  await course.define({ max_duration_minutes: 240 })
  await course.set({ max_workers_per_region: 1 })
})

/** The next quarter hour, and hours after it. */
const at = (hours: number) => {
  const quarter = 15 * MINUTE_MS
  return toInstant(Math.ceil(course.clock.now() / quarter) * quarter + hours * HOUR_MS)
}
const book = (json: object, as: 'user' | 'admin' = 'user', headers: Record<string, string> = {}) =>
  course.send('POST', 'lablet-sessions', { as, headers, json: { definition: 'bgp', duration_minutes: 60, ...json } })
const bookSeats = (seats: number, json: object = {}, headers: Record<string, string> = {}) =>
  course.send('POST', 'lablet-sessions/batch', {
    as: 'author',
    headers,
    json: { definition: 'bgp', duration_minutes: 60, seats, ...json },
  })
const cancel = ({ id }: { id: string }) => course.send('DELETE', `lablet-sessions/${id}`)
const extend = ({ id }: { id: string }, minutes: number) =>
  course.send('POST', `lablet-sessions/${id}/extend`, { json: { minutes } })
const definitionId = async () => (await course.send('GET', 'lablet-definitions?name=bgp')).json.items[0].id
const preview = async (json: object, as: 'user' | 'admin' = 'user') =>
  (await course.send('POST', `lablet-definitions/${await definitionId()}/admission-preview`, { as, json })).json

describe('a booking', () => {
  it('is admitted, with the time that its capacity is promised for', async () => {
    const { json } = await book({ start: at(1) })
    expect(json.admission).toMatchObject({
      kind: 'admitted',
      at_risk: null,
      number: 1,
      span: { until: toInstant(Date.parse(at(2)) + 2 * MINUTE_MS) },
      // Learners don't read what it was promised on.
      machine: null,
    })
    expect((await course.session(json.id)).admission.machine).toBe('new-1')
  })

  it('that begins now is admitted although a machine must boot first', async () => {
    expect((await book({})).json.admission.kind).toBe('admitted')
  })

  it('is refused when everything is booked then, with what is short and the nearest times that work', async () => {
    expect((await bookSeats(10, { start: at(4) })).status).toBe(201)
    const { status, json } = await book({ start: at(4.5) })
    expect(status).toBe(409)
    expect(json).toMatchObject({
      code: 'no_capacity_at_that_time',
      free_seats: 0,
      reason: {
        code: 'seats_short',
        params: { short: 1, seats: 1, start: at(4.5), cause: { code: 'capacity_booked_license' } },
      },
    })
    const [before, after] = json.alternatives
    expect([before < at(3.5), after > at(5)]).toEqual([true, true])
    for (const start of [before, after]) expect((await book({ start })).status).toBe(201)
    const tooEarly = toInstant(Date.parse(after) - 15 * MINUTE_MS)
    expect((await book({ start: tooEarly })).status).toBe(409)
  })

  it('names no times that the quota forbids', async () => {
    await bookSeats(10, { start: at(4) })
    await course.send('PATCH', 'quotas/user', { json: { live_sessions: 1 } })
    expect((await book({ start: at(5.5), duration_minutes: 120 })).status).toBe(201)
    const { alternatives } = (await book({ start: at(4) })).json
    expect(alternatives.at(-1)).toBe(at(7.5))
  })

  it('is checked against the quota first', async () => {
    await bookSeats(10, { start: at(4) })
    await course.send('PATCH', 'quotas/user', { json: { live_sessions: 0 } })
    expect((await book({ start: at(4) })).json.code).toBe('quota_exceeded')
  })

  it('that is refused costs none of the quota', async () => {
    await bookSeats(10, { start: at(4) })
    await course.send('PATCH', 'quotas/user', { json: { future_sessions: 1 } })
    expect((await book({ start: at(4) })).json.code).toBe('no_capacity_at_that_time')
    expect((await book({ start: at(8) })).status).toBe(201)
  })

  it('of best effort is made beyond all promises, and takes nothing from them', async () => {
    await bookSeats(9, { start: at(4) })
    for (let n = 0; n < 3; n += 1)
      expect((await book({ start: at(4), best_effort: true })).json.admission).toMatchObject({
        kind: 'best_effort',
        span: null,
      })
    expect((await book({ start: at(4) })).json.admission.kind).toBe('admitted')
    expect((await book({ start: at(4) })).status).toBe(409)
  })

  it('of a lab that no machine can run is refused without alternatives', async () => {
    await course.define({ name: 'huge', needs: HUGE })
    const { json } = await book({ definition: 'huge' }, 'admin')
    expect(json).toMatchObject({ alternatives: [], reason: { params: { cause: { code: 'lab_fits_nowhere' } } } })
  })
})

describe('several seats', () => {
  it('are booked all or none', async () => {
    const refused = await bookSeats(11, { start: at(1) })
    expect(refused.json).toMatchObject({ code: 'no_capacity_at_that_time', free_seats: 10, alternatives: [] })
    expect(await course.all('sessions')).toEqual([])
    const { items } = (await bookSeats(10, { start: at(1) })).json
    expect(new Set(items.map(({ id }: LabletSession) => id)).size).toBe(10)
    expect(new Set(items.map(({ admission }: LabletSession) => admission.number))).toEqual(new Set([1]))
    expect(await course.all('sessions')).toHaveLength(10)
  })

  it('are booked once when the request is repeated', async () => {
    const key = { 'idempotency-key': 'class-1' }
    const first = await bookSeats(3, { start: at(1) }, key)
    expect((await bookSeats(3, { start: at(1) }, key)).json).toEqual(first.json)
    expect(await course.all('sessions')).toHaveLength(3)
  })

  it('of best effort are booked beyond the capacity', async () => {
    expect((await bookSeats(30, { best_effort: true })).json.items).toHaveLength(30)
  })

  it('count against the quota', async () => {
    await course.send('PATCH', 'quotas/author', { json: { future_sessions: 5 } })
    expect((await bookSeats(6, { start: at(1) })).json.code).toBe('quota_exceeded')
    expect((await bookSeats(5, { start: at(1) })).status).toBe(201)
  })
})

describe('capacity becomes free', () => {
  const full = async () => (await bookSeats(10, { start: at(1) })).json.items as LabletSession[]

  it('when a session is canceled', async () => {
    const [first] = await full()
    expect((await book({ start: at(1) })).status).toBe(409)
    await cancel(first as LabletSession)
    expect((await book({ start: at(1) })).status).toBe(201)
  })

  it('when the limit of workers grows, or a template is added', async () => {
    await full()
    expect((await book({ start: at(1) })).status).toBe(409)
    await course.set({ max_workers_per_region: 2 })
    expect((await book({ start: at(1) })).status).toBe(201)
  })

  it('for a worker that was bought, not twice', async () => {
    await full()
    await course.serving()
    expect((await book({ start: at(1) })).status).toBe(409)
  })

  it('on a worker only when nothing is left of a session there', async () => {
    await course.set({ max_workers_per_region: 0 })
    const worker = await course.serving()
    const { id } = await course.placed(worker.id)
    await course.put('sessions', { ...(await course.session(id)), status: 'TERMINATED' })
    expect((await bookSeats(10, { start: at(1) })).json.free_seats).toBe(9)
    await course.edit(worker.id, () => ({ reservations: {} }))
    expect((await bookSeats(10, { start: at(1) })).status).toBe(201)
  })
})

describe('an extension', () => {
  it('moves the end and the promise', async () => {
    const { json } = await book({ start: at(1), duration_minutes: 30 })
    expect((await extend(json, 15)).json).toMatchObject({
      timeslot: { end: toInstant(Date.parse(json.timeslot.end) + 15 * MINUTE_MS) },
      admission: { number: 2, span: { until: toInstant(Date.parse(json.admission.span.until) + 15 * MINUTE_MS) } },
    })
  })

  it('is refused where others were promised the capacity, with how long is possible', async () => {
    const { json } = await book({ start: at(1), duration_minutes: 30 })
    await bookSeats(10, { start: toInstant(Date.parse(at(2)) + 20 * MINUTE_MS), duration_minutes: 60 })
    const last = (await course.all('sessions')).toSorted((a, b) => (a.timeslot.start < b.timeslot.start ? 1 : -1))[0]
    const mostMs = Date.parse(last?.admission.span?.from ?? '') - Date.parse(json.admission.span.until)
    const minutes = Math.floor(mostMs / MINUTE_MS)
    expect((await extend(json, minutes + 1)).json).toMatchObject({
      code: 'no_capacity_at_that_time',
      reason: { code: 'extension_short', params: { minutes } },
    })
    expect((await extend(json, minutes)).status).toBe(202)
  })

  it('of a best-effort session that has no worker yet needs no promise', async () => {
    await bookSeats(10, { start: at(1), duration_minutes: 90 })
    const { json } = await book({ start: at(1), duration_minutes: 30, best_effort: true })
    expect((await extend(json, 15)).json.admission.kind).toBe('best_effort')
  })
})

describe('a preview', () => {
  it('decides as a booking would', async () => {
    expect(await preview({ start: at(1), duration_minutes: 60, seats: 10 })).toMatchObject({
      outcome: 'admitted',
      seats: 10,
      free_seats: 10,
      because: null,
      alternatives: [],
      timeslot: { start: at(1), end: at(2) },
    })
    await bookSeats(8, { start: at(1) })
    expect(await preview({ start: at(1), duration_minutes: 60, seats: 3 })).toMatchObject({
      outcome: 'refused',
      free_seats: 2,
      because: { code: 'seats_short', params: { short: 1 } },
    })
    expect(await course.all('sessions')).toHaveLength(8)
  })

  it('names the quota, and hides from learners what they may not read', async () => {
    await course.send('PATCH', 'quotas/user', { json: { live_sessions: 2 } })
    expect((await preview({ seats: 3 })).because.code).toBe('quota_live_sessions')
    await course.send('PATCH', 'quotas/user', { json: { live_sessions: null } })
    await course.define({ name: 'picky', needs: HUGE })
    const { id } = (await course.send('GET', 'lablet-definitions?name=picky')).json.items[0]
    const as = async (role: 'user' | 'admin') =>
      (await course.send('POST', `lablet-definitions/${id}/admission-preview`, { as: role, json: {} })).json.because
        .message
    expect(await as('admin')).toContain('metal')
    expect(await as('user')).toContain('needs 1000 CPU cores')
  })
})

describe('when capacity is lost', () => {
  it('housekeeping marks the sessions that have none any more, the latest first, until it is back', async () => {
    await course.set({ max_workers_per_region: 2 })
    await bookSeats(10, { start: at(1) })
    const { items } = (await bookSeats(10, { start: at(1) })).json
    const atRisk = async () =>
      (await course.all('sessions')).filter(({ admission }) => admission.at_risk !== null).map(({ id }) => id)
    await course.set({ max_workers_per_region: 1 })
    await course.tend()
    expect((await atRisk()).toSorted()).toEqual(items.map(({ id }: LabletSession) => id).toSorted())
    const [lost] = await atRisk()
    const because = {
      code: 'capacity_lost',
      params: { cause: { code: 'capacity_booked_license', params: { node_limit: 20 } } },
    }
    expect((await course.session(lost ?? '')).admission.at_risk).toMatchObject(because)
    const { since } = (await course.session(lost ?? '')).admission.at_risk?.params ?? {}
    await course.set({ scale_up_enabled: false })
    await course.tend()
    const off = { code: 'capacity_lost', params: { since, cause: { code: 'capacity_booked_no_scale_up' } } }
    expect((await course.session(lost ?? '')).admission.at_risk).toMatchObject(off)
    await course.set({ scale_up_enabled: true })
    expect((await book({ start: at(1) })).json.reason.params.cause.code).toBe('promises_come_first')
    await course.set({ max_workers_per_region: 2 })
    await course.tend()
    expect(await atRisk()).toEqual([])
    const audit = (await course.send('GET', `audit?resource=session:${lost}`)).json.items
    expect(audit.map(({ action }: { action: string }) => action)).toEqual(['promise', 'at-risk', 'create'])
  })

  it('the fleet has a warning until it is back, and the owner reads no cause', async () => {
    const { id } = (await book({ start: at(1) })).json
    const warnings = async () =>
      (await course.send('GET', 'fleet/warnings', { as: 'operator' })).json.items.filter(
        ({ kind }: { kind: string }) => kind !== 'license',
      )
    await course.set({ max_workers_per_region: 0 })
    await course.tend()
    expect(await warnings()).toContainEqual(
      expect.objectContaining({
        id: 'promises:lost',
        kind: 'session_at_risk',
        is_critical: true,
        reason: expect.objectContaining({ code: 'promises_lost' }),
        fix: expect.objectContaining({ params: expect.objectContaining({ limit: 0 }) }),
      }),
    )
    const mine = (await course.send('GET', `lablet-sessions/${id}`, { as: 'user' })).json
    expect(mine.admission.at_risk).toMatchObject({ code: 'capacity_lost', params: { cause: null } })
    await course.set({ max_workers_per_region: 10 })
    await course.tend()
    expect(await warnings()).toEqual([])
  })
})

describe('sessions of a release without a calendar', () => {
  /** Two more than one worker holds. */
  const bookedBefore = async () => {
    const booked: string[] = []
    for (let n = 0; n < 12; n += 1) {
      await course.clock.advance(1_000)
      booked.push((await book({ start: at(2), best_effort: true })).json.id)
    }
    const before = { kind: 'best_effort', at_risk: null, number: 0, span: null, machine: null } as const
    for (const id of booked) await course.put('sessions', { ...(await course.session(id)), admission: before })
    return booked
  }

  it('that got no promise are in the log after the upgrade, and notified of', async () => {
    await bookedBefore()
    const log = recordingLogger()
    const sent: string[] = []
    const fetch: typeof globalThis.fetch = async (_, init) => {
      sent.push(JSON.parse(String(init?.body)).data.title)
      return new Response(null)
    }
    const sendEmail = async () => ({ outcome: 'accepted' }) as const
    const notifications = { source: '/lcm/lab', fetch, sendEmail }
    const upgraded = aControlPlane({ store: course.store, clock: course.clock, log, notifications })
    const target = { name: 'all', type: 'webhook', url: 'https://hooks.example.com/x' }
    await upgraded.send('POST', 'notification-targets', { json: target })
    const stops = [upgraded.run('housekeeping'), upgraded.run('notifier')]
    await course.clock.advance(4 * MINUTE_MS)
    for (const stop of stops) await stop()
    expect(log.messages('info')).toContain('sessions of an earlier release were entered in the calendar')
    expect(log.lines.find(({ level }) => level === 'warn')).toMatchObject({
      fields: { sessions: 2 },
      message: expect.stringMatching(/^no capacity is left for sessions of an earlier release/),
    })
    expect(sent.filter(title => /may not start/.test(title))).toEqual(['2 two routers labs may not start in time'])
  })

  it('are admitted in the order of their booking, before any new one; the rest is best effort', async () => {
    const booked = await bookedBefore()
    const upgraded = aControlPlane({ store: course.store, clock: course.clock })
    const answer = await upgraded.send('POST', 'lablet-sessions', {
      as: 'user',
      json: { definition: 'bgp', start: at(2), duration_minutes: 60 },
    })
    expect(answer.json.code).toBe('no_capacity_at_that_time')
    const kinds = []
    for (const id of booked) kinds.push((await course.session(id)).admission.kind)
    expect(kinds).toEqual([...Array(10).fill('admitted'), 'best_effort', 'best_effort'])
    const late = booked[10] ?? ''
    const missing = { code: 'capacity_not_promised', params: { cause: { code: 'capacity_booked_license' } } }
    expect((await course.session(late)).admission.at_risk).toMatchObject(missing)
    const { items } = (await course.send('GET', 'fleet/warnings')).json
    expect(items).toContainEqual(expect.objectContaining({ id: 'promises:missing' }))
    await course.set({ max_workers_per_region: 2 })
    await course.tend()
    expect((await course.session(late)).admission).toMatchObject({ kind: 'admitted', at_risk: null })
    const { items: after } = (await course.send('GET', 'fleet/warnings')).json
    expect(after.filter(({ kind }: { kind: string }) => kind !== 'license')).toEqual([])
  })
})

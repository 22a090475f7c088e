import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { beforeEach, describe, expect, it } from 'vitest'
import { collectionOf, type DocumentOf, openCollections } from '../../resources.ts'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

const CONFIG = { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'] } as const
const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60

let course: Course
beforeEach(async () => {
  course = aCourse({ config: { ...CONFIG, settings: {} } })
  await course.define({ max_duration_minutes: 240 })
})

type Caller = 'admin' | 'operator' | 'author' | 'user'
const inMinutes = (minutes: number) => toInstant(course.clock.now() + minutes * MINUTE_MS)
const book = (json: object = {}, as: Caller = 'user', headers: Record<string, string> = {}) =>
  course.send('POST', 'lablet-sessions', { as, headers, json: { definition: 'bgp', duration_minutes: 60, ...json } })
const quota = async (owner = 'user', as: Caller = 'admin') => (await course.send('GET', `quotas/${owner}`, { as })).json
const limit = (json: object, owner = 'user', as: Caller = 'operator') =>
  course.send('PATCH', `quotas/${owner}`, { as, json })
const stored = () => openCollections(course.store)
const ledger = async () => (await stored().quotas.get('user'))?.ledger ?? {}
async function edit<N extends 'sessions' | 'quotas'>(name: N, id: string, changes: Partial<DocumentOf<N>>) {
  const collection = collectionOf(stored(), name)
  const document = await collection.get(id)
  if (document === null) throw new Error(`there is no ${id}`)
  await collection.replace({ ...document, ...changes, version: document.version + 1 })
}

describe('a booking', () => {
  it('beyond the open sessions is refused with the next step, and possible after one was canceled', async () => {
    const first: LabletSession = (await book()).json
    expect((await book()).status).toBe(201)
    const refused = await book()
    expect(refused.status).toBe(409)
    expect(refused.json).toMatchObject({
      code: 'quota_exceeded',
      detail: 'You have 2 of 2 sessions open; cancel one or ask an operator',
      reason: { code: 'quota_live_sessions', params: { used: 2, limit: 2, frees_at: first.timeslot.end } },
    })
    await course.send('DELETE', `lablet-sessions/${first.id}`, { as: 'user' })
    expect((await book()).status).toBe(201)
  })

  it('is possible again while the lab of a canceled session is still being removed', async () => {
    const { id } = await course.serving()
    const running = await course.placed(id, 'INSTANTIATING', 'READY', 'RUNNING')
    await book()
    expect((await book()).status).toBe(409)
    await course.send('DELETE', `lablet-sessions/${running.id}`, { as: 'user' })
    expect((await course.session(running.id)).status).toBe('RUNNING')
    expect((await book()).status).toBe(201)
  })

  it('is possible again when a timeslot is over', async () => {
    await book({ duration_minutes: 10 })
    await book()
    await course.clock.advance(10 * MINUTE_MS)
    expect((await book()).status).toBe(201)
  })

  it('in the future counts apart from the open sessions', async () => {
    for (let nth = 1; nth <= 10; nth += 1) expect((await book({ start: inMinutes(60 * nth) })).status).toBe(201)
    expect((await book({ start: inMinutes(660) })).json).toMatchObject({
      detail: 'You have 10 of 10 future sessions booked; cancel one or ask an operator',
    })
    expect((await book()).status).toBe(201)
  })

  it('ahead is refused beyond the sessions at a time, however often it is repeated', async () => {
    for (let round = 0; round < 3; round += 1) {
      for (let nth = 0; nth < 2; nth += 1) await book({ start: inMinutes(1) })
      expect((await book({ start: inMinutes(1) })).json.code).toBe('quota_exceeded')
      await course.clock.advance(2 * MINUTE_MS)
    }
    expect((await quota()).used).toMatchObject({ live_sessions: 2, future_sessions: 0 })
    expect((await book({ start: inMinutes(5) })).json).toMatchObject({
      detail: 'You have 2 of 2 sessions at that time; choose another time, cancel one or ask an operator',
      reason: { code: 'quota_same_time' },
    })
  })

  it('beyond the horizon is refused', async () => {
    expect((await book({ start: inMinutes(60 * DAY_MINUTES) })).status).toBe(201)
    expect((await book({ start: inMinutes(90 * DAY_MINUTES) })).json).toMatchObject({
      code: 'quota_exceeded',
      detail: 'The slot starts in 90 days; you can book up to 60 days ahead',
    })
  })

  it('beyond the core-hours of the week is refused, also for a session that was canceled since', async () => {
    const { id } = await course.serving()
    await limit({ core_hours_per_week: 9 })
    // 2 cores for 4 hours.
    const running = await course.placed(id, 'INSTANTIATING', 'READY', 'RUNNING')
    expect((await book()).json).toMatchObject({ reason: { code: 'quota_core_hours', params: { needed: 2, used: 8 } } })
    await course.clock.advance(60 * MINUTE_MS)
    await course.send('DELETE', `lablet-sessions/${running.id}`, { as: 'user' })
    expect((await quota()).used).toEqual({ live_sessions: 0, future_sessions: 0, core_hours_this_week: 2 })
    expect((await book({ duration_minutes: 180 })).status).toBe(201)
    expect((await book()).json.reason).toMatchObject({ code: 'quota_core_hours', params: { needed: 2, used: 8 } })
  })

  it('of a role without limits writes no ledger, unless an operator limited that person', async () => {
    for (const as of ['admin', 'operator', 'author'] as const)
      for (let nth = 0; nth < 12; nth += 1) expect((await book({}, as)).status).toBe(201)
    expect(await course.all('quotas')).toEqual([])
    await limit({ live_sessions: 12 }, 'author')
    // The sessions that were booked without a ledger count.
    expect((await book({}, 'author')).json).toMatchObject({ reason: { params: { used: 12, limit: 12 } } })
  })

  it('counts the sessions that were open before there were quotas', async () => {
    for (let nth = 0; nth < 3; nth += 1) await book({}, 'author')
    const [session] = await course.all('sessions')
    await edit('sessions', session?.id ?? '', { owner: 'user' })
    await book()
    expect((await book()).json).toMatchObject({ reason: { params: { used: 2, limit: 2 } } })
    expect(await course.all('quotas')).toHaveLength(1)
  })

  it('that is repeated with its key counts once', async () => {
    const headers = { 'idempotency-key': 'once' }
    await course.send('POST', 'lablet-sessions', { as: 'user', headers, json: { definition: 'bgp' } })
    await course.send('POST', 'lablet-sessions', { as: 'user', headers, json: { definition: 'bgp' } })
    expect((await quota()).used.live_sessions).toBe(1)
  })

  it('that is repeated after a crash between ledger and session counts once', async () => {
    const headers = { 'idempotency-key': 'once' }
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run: crash })
    expect((await book({}, 'user', headers)).status).toBe(503)
    expect(Object.keys(await ledger())).toHaveLength(1)
    await course.clock.advance(31_000)
    expect((await book({}, 'user', headers)).status).toBe(201)
    expect(Object.keys(await ledger())).toHaveLength(1)
    expect((await book()).status).toBe(201)
    expect((await book()).status).toBe(409)
  })

  it('that fails for another reason leaves no entry', async () => {
    const { id } = (await book({ reservation_id: 'R-1' })).json
    expect((await book({ reservation_id: 'R-1' })).json.code).toBe('already_exists')
    expect(Object.keys(await ledger())).toEqual([id])
    const definition = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items[0]
    const deprecate = () => course.send('POST', `lablet-definitions/${definition.id}/deprecate`, { json: {} })
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run: deprecate })
    expect((await book()).json.code).toBe('definition_not_active')
    expect(Object.keys(await ledger())).toEqual([id])
  })

  it('that was suspended until its entry was removed is not made', async () => {
    let suspended = Promise.resolve()
    const suspend = () => {
      suspended = course.tend()
      return suspended
    }
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run: suspend })
    expect((await book()).json.code).toBe('deadline_exceeded')
    await suspended
    expect(await ledger()).toEqual({})
    await course.clock.advance(1_000)
    expect(await course.all('sessions')).toEqual([])
  })
})

describe('an extension', () => {
  beforeEach(() => limit({ core_hours_per_week: 5 }))
  const extend = (id: string, minutes: number, as: Caller = 'user', headers: Record<string, string> = {}) =>
    course.send('POST', `lablet-sessions/${id}/extend`, { as, headers, json: { minutes } })

  it('needs core-hours', async () => {
    const { id } = (await book({ duration_minutes: 60 })).json
    expect((await extend(id, 91)).json).toMatchObject({
      code: 'quota_exceeded',
      reason: { params: { needed: 5, used: 0, limit: 5 } },
    })
    expect((await extend(id, 90)).status).toBe(202)
    expect((await quota()).used.core_hours_this_week).toBe(5)
    expect((await extend(id, 10)).status).toBe(409)
  })

  it('is refused beyond the sessions at a time', async () => {
    const { id } = (await book({ duration_minutes: 30 })).json
    for (let nth = 0; nth < 2; nth += 1) await book({ start: inMinutes(40), duration_minutes: 30 })
    expect((await extend(id, 11)).json).toMatchObject({ reason: { code: 'quota_same_time', params: { used: 2 } } })
    expect((await extend(id, 10)).status).toBe(202)
    expect((await extend(id, 20, 'operator')).status).toBe(202)
  })

  it('that is repeated counts once, and concurrent ones add up', async () => {
    const { id } = (await book({ duration_minutes: 60 })).json
    const headers = { 'idempotency-key': 'once' }
    for (let nth = 0; nth < 3; nth += 1) await extend(id, 30, 'user', headers)
    expect((await quota()).used.core_hours_this_week).toBe(3)
    const answers = await Promise.all([30, 30, 30, 30].map(minutes => extend(id, minutes)))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 409, 409])
    expect((await quota()).used.core_hours_this_week).toBe(5)
  })

  it('that was lost in a crash frees its hours again', async () => {
    const { id } = (await book({ duration_minutes: 60 })).json
    course.store.interrupt({ kind: 'calendar', write: 'replace', when: 'before', run: crash })
    expect((await extend(id, 60)).status).toBe(503)
    expect((await quota()).used.core_hours_this_week).toBe(4)
    await course.tend()
    expect((await quota()).used.core_hours_this_week).toBe(2)
  })

  it('by an operator may exceed the limit of the owner, and counts', async () => {
    const { id } = (await book({ duration_minutes: 60 })).json
    expect((await extend(id, 180, 'operator')).status).toBe(202)
    expect((await quota()).used.core_hours_this_week).toBe(8)
    expect((await book({ duration_minutes: 5 })).status).toBe(409)
  })
})

describe('housekeeping', () => {
  it('removes the entry of a booking that crashed before its session', async () => {
    course.store.interrupt({ kind: 'calendar', write: 'replace', when: 'before', run: crash })
    await book()
    await book()
    expect((await book()).status).toBe(409)
    await course.tend()
    expect(Object.keys(await ledger())).toHaveLength(1)
    expect((await book()).status).toBe(201)
  })

  it('adds the entry of an open session that has none', async () => {
    const { id } = (await book()).json
    await edit('quotas', 'user', { ledger: {} })
    await course.tend()
    expect(Object.keys(await ledger())).toEqual([id])
  })

  it('closes the entries of ended sessions and writes nothing when all is well', async () => {
    await book({ duration_minutes: 10 })
    await course.tend()
    const before = await stored().quotas.get('user')
    await course.tend()
    expect(await stored().quotas.get('user')).toEqual(before)
    await course.clock.advance(20 * MINUTE_MS)
    await course.tend()
    expect(await ledger()).toEqual({})
  })
})

describe('quotas', () => {
  it('are shown with limits and usage, before the first booking too', async () => {
    expect(await quota('user', 'user')).toEqual({
      id: 'user',
      version: 0,
      name: 'user',
      role: 'user',
      limits: { live_sessions: 2, future_sessions: 10, horizon_days: 60, core_hours_per_week: 1000 },
      given: {},
      used: { live_sessions: 0, future_sessions: 0, core_hours_this_week: 0 },
      updated_at: null,
    })
    await book()
    await book({ start: inMinutes(30) })
    const used = { live_sessions: 1, future_sessions: 1, core_hours_this_week: 4 }
    expect(await quota('user', 'user')).toMatchObject({ used })
    for (const as of ['admin', 'operator'] as const)
      expect((await course.send('GET', 'quotas', { as })).json.items).toMatchObject([{ id: 'user', used }])
  })

  it('of others are hidden', async () => {
    await book()
    await book({}, 'author')
    for (const as of ['user', 'author'] as const) {
      const { items } = (await course.send('GET', 'quotas', { as })).json
      expect(items.map(({ id }: { id: string }) => id)).toEqual([as])
    }
    expect((await course.send('GET', 'quotas/user', { as: 'author' })).status).toBe(404)
    expect((await course.send('GET', 'quotas/none')).status).toBe(404)
    for (const as of ['author', 'user'] as const)
      expect((await limit({ live_sessions: 9 }, 'user', as)).status).toBe(403)
  })

  it('are set and reset by operators, before the first booking too', async () => {
    const answer = await limit({ live_sessions: 3, horizon_days: 'unlimited' }, 'user')
    expect(answer).toMatchObject({
      status: 200,
      json: { limits: { live_sessions: 3, horizon_days: 'unlimited', future_sessions: 10 }, version: 2 },
    })
    for (let nth = 0; nth < 3; nth += 1) expect((await book()).status).toBe(201)
    expect((await book()).status).toBe(409)
    await limit({ live_sessions: null, horizon_days: null })
    expect((await quota()).given).toEqual({})
    expect((await book()).json.detail).toBe('You have 3 of 2 sessions open; cancel one or ask an operator')
  })

  it('have the name and the role of the person record, before the first booking too', async () => {
    const { id } = (await course.send('POST', 'people', { json: { name: 'Jane', role: 'user' } })).json
    expect(await quota(id)).toMatchObject({ id, version: 0, name: 'Jane', limits: { live_sessions: 2 } })
    await limit({ horizon_days: 90 }, id)
    await course.send('PATCH', `people/${id}`, { json: { name: 'Jane Doe', role: 'operator' } })
    const now = { name: 'Jane Doe', role: 'operator', limits: { live_sessions: 'unlimited', horizon_days: 90 } }
    expect(await quota(id)).toMatchObject(now)
    expect((await course.send('GET', 'quotas')).json.items).toMatchObject([now])
    expect((await limit({ horizon_days: 60 }, id)).json).toMatchObject({ name: 'Jane Doe', role: 'operator' })
  })

  it('end with a removed person and move with a merged one, so that a later sign-in of the same id starts without', async () => {
    const jane = (await course.send('POST', 'people', { json: { name: 'Jane', role: 'user' } })).json
    const ann = (await course.send('POST', 'people', { json: { name: 'Ann', role: 'user' } })).json
    for (const { id } of [jane, ann]) await limit({ live_sessions: 'unlimited' }, id)
    await course.send('DELETE', `people/${jane.id}`)
    expect((await course.all('quotas')).map(({ id }) => id)).toEqual([ann.id])
    const bob = (await course.send('POST', 'people', { json: { name: 'Bob', role: 'user' } })).json
    await course.send('POST', `people/${ann.id}/merge`, { json: { into: bob.id } })
    for (let nth = 0; nth < 3; nth += 1) await course.tend()
    expect((await course.all('people')).map(({ name }) => name)).toEqual(['Bob'])
    expect(await course.all('quotas')).toMatchObject([{ id: bob.id, given: { live_sessions: 'unlimited' } }])
  })

  it('honor If-Match', async () => {
    const patch = (version: number) =>
      course.send('PATCH', 'quotas/user', { headers: { 'if-match': `"${version}"` }, json: { live_sessions: 3 } })
    expect((await patch(1)).status).toBe(412)
    expect((await patch(0)).status).toBe(200)
    expect((await patch(0)).status).toBe(412)
  })

  it('by role are settings', async () => {
    await course.send('PATCH', 'settings', { json: { quota_user_live_sessions: 0, quota_author_live_sessions: 1 } })
    expect((await book()).json.detail).toBe("You can't open sessions; ask an operator")
    expect((await book({}, 'author')).status).toBe(201)
    expect((await book({}, 'author')).status).toBe(409)
  })
})

import type { Role } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { LAB_STOPPED, UNTOUCHED } from '@lcm/domain/session/lablet-session'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const act = (id: string, verb: string, json: object = {}, as: Role = 'user') =>
  course.send('POST', `lablet-sessions/${id}/${verb}`, { as, json })
const cancel = (id: string, as: Role = 'user') => course.send('DELETE', `lablet-sessions/${id}`, { as })
const reserved = async (id: string) => Object.keys((await course.get(id)).reservations)

describe('the owner of a session', () => {
  const verbs: [string, (id: string, as: Role) => ReturnType<Course['send']>][] = [
    ['GET', (id, as) => course.send('GET', `lablet-sessions/${id}`, { as })],
    ['decisions', (id, as) => course.send('GET', `lablet-sessions/${id}/decisions`, { as })],
    ['DELETE', cancel],
    ['extend', (id, as) => act(id, 'extend', { minutes: 1 }, as)],
    ['requeue', (id, as) => act(id, 'requeue', {}, as)],
    ['retry', (id, as) => act(id, 'retry', {}, as)],
    ['move', (id, as) => act(id, 'move', {}, as)],
  ]

  it.each(verbs)('decides which actors may %s it', async (_, ask) => {
    const statuses: Record<string, number> = {}
    for (const as of ['admin', 'operator', 'author', 'user'] as const) {
      const { id } = await course.book({ duration_minutes: 10 }, 'user')
      statuses[as] = (await ask(id, as)).status
    }
    expect(statuses.author).toBe(404)
    for (const as of ['admin', 'operator', 'user']) expect([200, 202, 409]).toContain(statuses[as])
  })

  it.each([
    ['DELETE', ''],
    ['POST', '/extend'],
    ['POST', '/requeue'],
    ['POST', '/retry'],
    ['POST', '/move'],
  ])('hides from a stranger whether a version exists: %s %s', async (method, verb) => {
    const { id } = await course.book({ duration_minutes: 10 }, 'user')
    const more = {
      as: 'author',
      json: verb === '/extend' ? { minutes: 1 } : {},
      headers: { 'if-match': '"99"' },
    } as const
    const { status, body } = await course.send(method, `lablet-sessions/${id}${verb}`, more)
    expect([status, body]).toEqual([404, expect.stringContaining(`there is no session ${id}`)])
  })

  it('decides which lists show it', async () => {
    const mine = await course.book({}, 'user')
    const theirs = await course.book({}, 'author')
    const listed = async (as: Role, query = '') =>
      (await course.send('GET', `lablet-sessions${query}`, { as })).json.items
        .map((each: { id: string }) => each.id)
        .sort()
    const both = [mine.id, theirs.id].sort()
    expect(await listed('user')).toEqual([mine.id])
    expect(await listed('user', '?owner=author')).toEqual([])
    expect(await listed('author')).toEqual([theirs.id])
    for (const as of ['admin', 'operator', 'controller'] as const) expect(await listed(as)).toEqual(both)
    expect(await listed('admin', '?owner=author')).toEqual([theirs.id])
    expect(await listed('admin', '/mine')).toEqual([])
    expect(await listed('user', '/mine')).toEqual([mine.id])
  })
})

it('lists active sessions by default', async () => {
  const { id } = await course.book()
  await cancel(id)
  const listed = async (query: string) => (await course.send('GET', `lablet-sessions?${query}`)).json.items.length
  expect([await listed(''), await listed('include_finished=true'), await listed('status=TERMINATED')]).toEqual([
    0, 1, 1,
  ])
})

describe('canceling', () => {
  it('ends a session without a worker at once', async () => {
    const { id } = await course.book()
    expect((await cancel(id)).json).toMatchObject({
      status: 'TERMINATED',
      desired_status: 'TERMINATED',
      desired_by: 'user',
    })
    expect((await cancel(id)).status).toBe(202)
  })

  it('requests the end of a placed session; its lab is removed first', async () => {
    const { id } = await course.placed((await course.serving()).id, 'INSTANTIATING')
    expect((await cancel(id)).json).toMatchObject({ status: 'INSTANTIATING', desired_status: 'TERMINATED' })
  })

  it('releases the reservation of an interrupted assignment', async () => {
    const worker = await course.serving()
    const { id } = await course.book()
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: crash })
    await course.assign(id, worker.id)
    expect(await reserved(worker.id)).toEqual([id])
    await cancel(id)
    expect(await reserved(worker.id)).toEqual([])
  })
})

describe('extending', () => {
  it('moves the end once per request, up to the maximum of the definition', async () => {
    const { id, timeslot } = await course.book({ duration_minutes: 30 })
    const request = { as: 'user', headers: { 'idempotency-key': 'k' }, json: { minutes: 20 } } as const
    for (let n = 0; n < 2; n++) await course.send('POST', `lablet-sessions/${id}/extend`, request)
    const end = toInstant(Date.parse(timeslot.end) + 20 * 60_000)
    expect((await course.session(id)).timeslot).toEqual({ ...timeslot, end })
    const tooLong = 'it would last 61 min, and bgp may last 60 min: it can be extended by 10 min'
    expect((await act(id, 'extend', { minutes: 11 })).json).toMatchObject({ code: 'timeslot_invalid', detail: tooLong })
    await act(id, 'extend', { minutes: 10 })
    const { detail } = (await act(id, 'extend', { minutes: 1 })).json
    expect(detail).toMatch(/: it lasts as long as it may already$/)
  })

  it('is refused beyond the last timestamp that can be written', async () => {
    const { id, timeslot } = await course.book({ start: '9999-12-31T23:40:00.000Z', duration_minutes: 10 })
    const problem = { code: 'timeslot_invalid', detail: 'it would end after the year 9999' }
    expect((await act(id, 'extend', { minutes: 20 })).json).toMatchObject(problem)
    expect((await course.session(id)).timeslot).toEqual(timeslot)
  })

  it('is refused after the end', async () => {
    const { id } = await course.book({ duration_minutes: 30 })
    await course.clock.advance(31 * 60_000)
    expect((await act(id, 'extend', { minutes: 10 })).json.code).toBe('session_over')
    const worker = await course.serving()
    const placed = await course.placed(worker.id)
    await cancel(placed.id)
    expect((await act(placed.id, 'extend', { minutes: 10 })).json.code).toBe('session_over')
  })
})

describe('requeueing', () => {
  it('removes it from its worker, and releases its capacity', async () => {
    const worker = await course.serving()
    const { id } = await course.placed(worker.id)
    expect((await act(id, 'requeue', { reason: 'a better place' })).json).toMatchObject({
      status: 'PENDING',
      worker_id: null,
    })
    expect(await reserved(worker.id)).toEqual([])
  })

  it('releases its capacity after a crash too', async () => {
    const worker = await course.serving()
    const { id } = await course.placed(worker.id)
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'after', run: crash })
    expect((await act(id, 'requeue')).status).toBe(503)
    expect(await reserved(worker.id)).toEqual([id])
    await course.tend()
    expect(await reserved(worker.id)).toEqual([])
  })

  it('is for SCHEDULED sessions only', async () => {
    expect((await act((await course.book()).id, 'requeue')).json.code).toBe('session_wrong_state')
  })
})

describe('retrying', () => {
  it('restarts a failed session', async () => {
    const { id } = await course.placed((await course.serving()).id, 'INSTANTIATING')
    expect((await act(id, 'retry')).json.code).toBe('session_wrong_state')
    await course.reportSession(id, {
      last_error: 'lab_start: no',
      pipeline: { name: 'instantiate', attempt: 2, steps: {} },
    })
    expect((await act(id, 'retry')).json).toMatchObject({
      status: 'INSTANTIATING',
      pipeline: { name: 'instantiate', attempt: 3 },
      last_error: null,
    })
  })

  it.each(['PENDING', 'SCHEDULED'])('wakes the controller of a %s session, once per request', async status => {
    const worker = await course.serving()
    const { id, version } = status === 'PENDING' ? await course.book() : await course.placed(worker.id)
    const request = { as: 'user', headers: { 'idempotency-key': 'k' }, json: { reason: 'now' } } as const
    for (let n = 0; n < 2; n++) {
      const answer = await course.send('POST', `lablet-sessions/${id}/retry`, request)
      expect(answer).toMatchObject({ status: 202, json: { status, version: version + 1 } })
    }
    const entries = await course.journal('audit', `session:${id}`)
    expect(entries.map(({ body }) => body)).toContainEqual(expect.objectContaining({ action: 'retry', reason: 'now' }))
  })

  it('starts a stopped lab again with its state', async () => {
    const { id } = await course.placed((await course.serving()).id, 'INSTANTIATING', 'READY', 'RUNNING')
    const refused = await act(id, 'retry')
    expect(refused).toMatchObject({ status: 409, json: { code: 'session_wrong_state' } })
    expect(refused.json.reason.code).toBe('nothing_to_retry')
    const steps = Object.fromEntries(
      PIPELINE_STEPS.instantiate.map(({ name }) => [name, { ...UNTOUCHED, status: 'completed' }]),
    )
    const since = toInstant(course.clock.now())
    const stopped = {
      type: LAB_STOPPED,
      status: true,
      reason: reason('lab_stopped_on_cml', { state: 'STOPPED' }),
      since,
    }
    await course.reportSession(id, { conditions: [stopped], pipeline: { name: 'instantiate', attempt: 1, steps } })
    const { json } = await act(id, 'retry')
    expect(json).toMatchObject({ status: 'RUNNING', pipeline: { attempt: 2 } })
    expect(json.pipeline.steps).toMatchObject({ tags: { status: 'completed' }, lab_start: { status: 'pending' } })
    expect((await act(id, 'retry')).json.version).toBe(json.version)
  })

  it('explains what to do when there is nothing to retry', async () => {
    const { id } = await course.book()
    await cancel(id)
    expect((await act(id, 'retry')).json).toMatchObject({
      code: 'session_wrong_state',
      reason: { code: 'session_ended', params: { status: 'TERMINATED' } },
    })
  })
})

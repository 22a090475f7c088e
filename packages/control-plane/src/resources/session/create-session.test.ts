import type { Role } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
beforeEach(async () => {
  course = aCourse()
  await course.define({ max_duration_minutes: 60 })
})

const MINUTE_MS = 60_000
const inMinutes = (minutes: number) => toInstant(course.clock.now() + minutes * MINUTE_MS)
const book = (json: object) =>
  course.send('POST', 'lablet-sessions', { as: 'user', json: { definition: 'bgp', ...json } })

it('books from now for the maximum duration by default', async () => {
  const answer = await book({})
  expect(answer).toMatchObject({ status: 201, headers: { location: `/api/v1/lablet-sessions/${answer.json.id}` } })
  expect(answer.json).toMatchObject({
    owner: 'user',
    owner_name: 'user',
    status: 'PENDING',
    desired_status: 'RUNNING',
    definition: { name: 'bgp', version: '1.0.0' },
    needs: { memory_gb: 2 },
    timeslot: { start: inMinutes(0), end: inMinutes(60) },
    worker_id: null,
    state_history: [{ from: null, to: 'PENDING' }],
  })
  expect(await course.journal('transition', `session:${answer.json.id}`)).toHaveLength(1)
})

describe('a timeslot', () => {
  it.each([
    ['begins later', 30, { duration_minutes: 20 }, [30, 50]],
    ['ends at an instant', 30, { end: 45 }, [30, 45]],
    ['began a few minutes ago', -4, { duration_minutes: 10 }, [-4, 6]],
  ])('%s', async (_, start, { end, ...more }: { end?: number; duration_minutes?: number }, [from, to]) => {
    const given = end === undefined ? more : { end: inMinutes(end) }
    const { json } = await book({ start: inMinutes(start), ...given })
    expect(json.timeslot).toEqual({ start: inMinutes(from ?? 0), end: inMinutes(to ?? 0) })
  })

  it.each([
    ['too long', 0, { duration_minutes: 61 }],
    ['too long by its end', 0, { end: 61 }],
    ['backwards', 30, { end: 20 }],
    ['empty', 30, { end: 30 }],
    ['in the past', -6, { duration_minutes: 30 }],
    ['over', -4, { duration_minutes: 4 }],
    ['given twice', 0, { duration_minutes: 10, end: 10 }],
  ])('%s is refused', async (_, start, { end, ...more }: { end?: number; duration_minutes?: number }) => {
    const given = end === undefined ? more : { ...more, end: inMinutes(end) }
    expect(await book({ start: inMinutes(start), ...given })).toMatchObject({
      status: 422,
      json: { code: 'timeslot_invalid' },
    })
  })
})

it('uses the newest version of a name, or the exact version', async () => {
  const [first] = (await course.send('GET', 'lablet-definitions')).json.items
  await course.send('PUT', `lablet-definitions/${first.id}`, { json: { topology: TOPOLOGY, title: 'BGP' } })
  expect((await book({})).json.definition.version).toBe('1.0.1')
  expect((await book({ definition: first.id })).json.code).toBe('definition_not_active')
  expect((await book({ definition: 'none' })).json.code).toBe('definition_not_found')
})

it('has a reservation_id that is unique among the sessions of its owner, or none', async () => {
  const answers = [
    await book({}),
    await book({}),
    await book({ reservation_id: 'r' }),
    await book({ reservation_id: 'r' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 409])
  expect(answers[3]?.json.code).toBe('already_exists')
})

it('takes the reservation_id of another owner, which reveals nothing about it', async () => {
  const bookAs = (as: Role) =>
    course.send('POST', 'lablet-sessions', { as, json: { definition: 'bgp', reservation_id: 'RES-A-1' } })
  const answers = [await bookAs('user'), await bookAs('author'), await bookAs('author')]
  expect(answers.map(({ status, json }) => [status, json.owner])).toEqual([
    [201, 'user'],
    [201, 'author'],
    [409, undefined],
  ])
})

it('is booked once when the request is repeated', async () => {
  const request = { headers: { 'idempotency-key': 'k' }, json: { definition: 'bgp', reservation_id: 'r' } }
  course.store.interrupt({ kind: 'session', write: 'insert', when: 'after', run: crash })
  expect((await course.send('POST', 'lablet-sessions', request)).status).toBe(503)
  await course.clock.advance(31_000)
  const answers = [1, 2].map(() => course.send('POST', 'lablet-sessions', request))
  const [one, two] = await Promise.all(answers)
  expect([one?.status, two?.status]).toContain(201)
  expect((await course.send('GET', 'lablet-sessions')).json.items).toHaveLength(1)
})

describe('a definition that is deprecated at the same time', () => {
  const sessions = async () => (await course.send('GET', 'lablet-sessions?include_finished=true')).json.items
  const deprecate = async () => {
    const [{ id }] = (await course.send('GET', 'lablet-definitions')).json.items
    await course.send('POST', `lablet-definitions/${id}/deprecate`)
  }

  it('leaves no session', async () => {
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'after', run: deprecate })
    expect((await book({})).json.code).toBe('definition_not_active')
    expect(await sessions()).toEqual([])
  })

  it.each([
    [
      'another writer changed',
      async (id: string) => course.reportSession(id, { waiting_reason: textReason('x') }, 'resource-scheduler'),
    ],
    ['is placed', async (id: string) => course.assign(id, (await course.serving()).id)],
  ])('ends a session that %s meanwhile', async (_, meanwhile) => {
    const intervene = async () => meanwhile((await sessions())[0].id)
    const run = async () => {
      await deprecate()
      course.store.interrupt({ kind: 'session', write: 'remove', when: 'before', run: intervene })
    }
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'after', run })
    expect((await book({})).json.code).toBe('definition_not_active')
    expect(await sessions()).toMatchObject([{ version: 3, desired_status: 'TERMINATED' }])
  })
})

it('keeps its needs when its definition changes', async () => {
  const { json: session } = await book({})
  const big = TOPOLOGY.replaceAll('ram: 1024', 'ram: 8192')
  await course.send('PUT', `lablet-definitions/${session.definition.id}`, { json: { topology: big } })
  expect((await course.session(session.id)).needs).toEqual(session.needs)
})

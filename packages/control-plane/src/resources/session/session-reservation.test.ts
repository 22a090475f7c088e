import { toInstant, toMs } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { newPipeline } from '@lcm/domain/session/pipeline'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const MINUTE_MS = 60_000
/** Its lab of iol-xe nodes takes 1 min, and 2 more; a teardown takes 2. */
const LEAD = 3
const TEARDOWN = 2

let course: Course
let startMs: number
beforeEach(() => {
  course = aCourse()
  startMs = course.clock.now()
})

const at = (minutes: number) => toInstant(startMs + minutes * MINUTE_MS)
const minutesOf = (instant: string | null) =>
  instant === null ? null : Math.round((toMs(instant) - startMs) / MINUTE_MS)

/** A worker for one session at a time. */
const small = () =>
  course.serving({
    capacity: {
      declared: { cpu_cores: 2, memory_gb: 2, storage_gb: 100, max_nodes: 10 },
      reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
    },
  })
const bookedFor = (from: number, until: number) => course.book({ start: at(from), end: at(until) })
const reservation = async (workerId: string, id: string) => {
  const found = (await course.get(workerId)).reservations[id]
  return found && { from: minutesOf(found.from), until: minutesOf(found.until), isStarted: found.started_at !== null }
}
const assignFor = (id: string, worker_id: string, times: object) => {
  const json = { worker_id, decision: { action: 'assign', because: textReason('the test says so') }, ...times }
  return course.fenced('POST', `lablet-sessions/${id}/assignment`, json, { by: 'resource-scheduler' })
}
const starts = (id: string) =>
  course.reportSession(id, { status: 'INSTANTIATING', pipeline: newPipeline('instantiate', 1) })

async function runs(workerId: string, session: LabletSession) {
  await course.assign(session.id, workerId)
  await starts(session.id)
  const lab = (await course.bind(session.id)).json
  await course.bind(session.id, { lab_id: `cml-${session.id}` })
  await course.reportLab(lab.id, { status: 'STARTING' })
  await course.reportSession(session.id, { status: 'READY' })
  await course.reportSession(session.id, { status: 'RUNNING' })
  return lab.id
}

describe('a reservation', () => {
  it('lasts from the start of the lab until the lab is gone after the timeslot', async () => {
    const worker = await small()
    const { id } = await bookedFor(30, 60)
    await course.assign(id, worker.id)
    expect(await reservation(worker.id, id)).toEqual({ from: 30 - LEAD, until: 60 + TEARDOWN, isStarted: false })
  })

  it('begins now for a session whose lab should have started', async () => {
    const worker = await small()
    const { id } = await bookedFor(1, 60)
    await course.assign(id, worker.id)
    expect(await reservation(worker.id, id)).toMatchObject({ from: 0 })
  })

  it('has the times of the request, which include the timeslot', async () => {
    const worker = await small()
    const { id } = await bookedFor(30, 60)
    const assign = (times: object) => assignFor(id, worker.id, times)
    expect((await assign({ until: at(59) })).json.code).toBe('validation_failed')
    expect((await assign({ from: at(70), until: at(70) })).json.code).toBe('validation_failed')
    expect((await assign({ from: at(20), until: at(65) })).status).toBe(200)
    expect(await reservation(worker.id, id)).toMatchObject({ from: 20, until: 65 })
  })
})

describe('sessions that follow each other', () => {
  it('share a worker if the lab of one is gone before the next one starts', async () => {
    const worker = await small()
    const [one, two, overlapping] = [await bookedFor(0, 30), await bookedFor(35, 60), await bookedFor(34, 60)]
    for (const { id } of [one, two]) expect((await course.assign(id, worker.id)).status).toBe(200)
    expect((await course.assign(overlapping.id, worker.id)).json.code).toBe('no_capacity')
    expect((await course.get(worker.id)).capacity.reserved).toMatchObject({ memory_gb: 2, cpu_cores: 2 })
  })

  it('start only when the lab of the one before is gone', async () => {
    const worker = await small()
    const [one, two] = [await bookedFor(0, 30), await bookedFor(35, 60)]
    await course.assign(two.id, worker.id)
    const lab = await runs(worker.id, one)
    await course.clock.advance(33 * MINUTE_MS)
    const refused = await starts(two.id)
    expect(refused).toMatchObject({ status: 409, json: { code: 'no_capacity' } })
    expect(refused.json.detail).toContain(`waiting until the lab of ${one.id} is gone`)
    expect((await course.session(two.id)).status).toBe('SCHEDULED')
    await course.reportSession(one.id, { status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
    await course.reportLab(lab, { status: 'DELETED' })
    await course.release(one.id)
    expect((await starts(two.id)).status).toBe(200)
    expect(await reservation(worker.id, two.id)).toMatchObject({ isStarted: true })
  })

  it('of two that wait for the same capacity, one starts', async () => {
    const worker = await course.serving({
      capacity: {
        declared: { cpu_cores: 4, memory_gb: 4, storage_gb: 100, max_nodes: 10 },
        reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
      },
    })
    const [late, gone] = [await bookedFor(0, 30), await bookedFor(0, 30)]
    const [one, two] = [await bookedFor(36, 60), await bookedFor(36, 60)]
    for (const { id } of [one, two]) await course.assign(id, worker.id)
    await runs(worker.id, late)
    const lab = await runs(worker.id, gone)
    await course.clock.advance(34 * MINUTE_MS)
    await course.reportSession(gone.id, { status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
    await course.reportLab(lab, { status: 'DELETED' })
    await course.release(gone.id)
    const answers = await Promise.all([starts(one.id), starts(two.id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  it('are not placed in the time that a late lab may still need', async () => {
    const worker = await small()
    await runs(worker.id, await bookedFor(0, 30))
    await course.clock.advance(40 * MINUTE_MS)
    const [soon, later] = [await bookedFor(44, 60), await bookedFor(46, 60)]
    expect((await course.assign(soon.id, worker.id)).json.code).toBe('no_capacity')
    expect((await course.assign(later.id, worker.id)).status).toBe(200)
  })
})

describe('an extension', () => {
  const extend = (id: string, minutes: number) =>
    course.send('POST', `lablet-sessions/${id}/extend`, { json: { minutes } })

  it('reserves the capacity until the new end', async () => {
    const worker = await small()
    const { id } = await bookedFor(0, 30)
    await course.assign(id, worker.id)
    expect((await extend(id, 15)).json.timeslot.end).toBe(at(45))
    expect(await reservation(worker.id, id)).toMatchObject({ until: 45 + TEARDOWN })
  })

  it('is refused when the worker is promised to others by then, and says how much is possible', async () => {
    const worker = await small()
    const [one, two] = [await bookedFor(0, 30), await bookedFor(45, 60)]
    for (const { id } of [one, two]) await course.assign(id, worker.id)
    const refused = await extend(one.id, 15)
    expect(refused).toMatchObject({ status: 409, json: { code: 'no_capacity_at_that_time' } })
    expect(refused.json.detail).toContain('it can be extended by 10 min')
    expect((await course.session(one.id)).timeslot.end).toBe(at(30))
    expect((await extend(one.id, 10)).status).toBe(202)
    expect((await extend(one.id, 5)).json.detail).toContain("can't be extended")
  })

  it('is refused by the ledger too, where another session was placed for longer than it was promised', async () => {
    const worker = await small()
    const [one, two] = [await bookedFor(0, 30), await bookedFor(45, 60)]
    await course.assign(one.id, worker.id)
    expect((await assignFor(two.id, worker.id, { from: at(36) })).status).toBe(200)
    const refused = await extend(one.id, 8)
    expect(refused).toMatchObject({ status: 409, json: { code: 'no_capacity_at_that_time' } })
    expect(refused.json.detail).toBe('other sessions are promised its capacity then; it can be extended by 4 min')
    expect((await extend(one.id, 4)).status).toBe(202)
    expect((await extend(one.id, 1)).json.detail).toBe('other sessions are promised its capacity after its end')
  })

  it('adds up with another one at the same time', async () => {
    const worker = await small()
    const { id } = await bookedFor(0, 20)
    await course.assign(id, worker.id)
    await Promise.all([extend(id, 10), extend(id, 15)])
    expect((await course.session(id)).timeslot.end).toBe(at(45))
    expect(await reservation(worker.id, id)).toMatchObject({ until: 45 + TEARDOWN })
  })
})

describe('the end of a session', () => {
  it('shortens the reservation when it comes early', async () => {
    const worker = await small()
    const session = await bookedFor(0, 50)
    await runs(worker.id, session)
    await course.clock.advance(10 * MINUTE_MS)
    await course.send('DELETE', `lablet-sessions/${session.id}`)
    expect(await reservation(worker.id, session.id)).toMatchObject({ until: 10 + TEARDOWN })
    const next = await bookedFor(20, 50)
    expect((await course.assign(next.id, worker.id)).status).toBe(200)
  })

  it('holds the capacity of a lab that may still run', async () => {
    const worker = await small()
    const session = await bookedFor(0, 30)
    await runs(worker.id, session)
    await course.reportSession(session.id, { status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
    await course.release(session.id)
    expect(await reservation(worker.id, session.id)).toMatchObject({ until: null })
    const next = await bookedFor(50, 59)
    expect((await course.assign(next.id, worker.id)).json.code).toBe('no_capacity')
  })

  it('holds the capacity of a lab that its session left', async () => {
    const worker = await small()
    const session = await bookedFor(0, 50)
    const lab = await runs(worker.id, session)
    await course.reportSession(session.id, { status: 'PENDING', worker_id: null, pipeline: null })
    expect(await reservation(worker.id, session.id)).toMatchObject({ until: null })
    await course.reportLab(lab, { status: 'DELETED' })
    expect(await reservation(worker.id, session.id)).toBeUndefined()
  })
})

it('shows other sessions to operators only in the reason of a wait', async () => {
  const worker = await small()
  const [one, two] = [await bookedFor(0, 30), await course.book({ start: at(35), end: at(60) }, 'author')]
  await course.assign(two.id, worker.id)
  const waiting_reason = {
    code: 'waiting_for_predecessors',
    message: `waiting until the lab of ${one.id} is gone from metal`,
    params: { worker: 'metal', sessions: [one.id] },
  }
  await course.reportSession(two.id, { waiting_reason })
  const read = async (as: 'author' | 'operator') =>
    (await course.send('GET', `lablet-sessions/${two.id}`, { as })).json.waiting_reason.params.sessions
  expect([await read('operator'), await read('author')]).toEqual([[one.id], ['ls-…']])
})

it('previews a placement for a time', async () => {
  const worker = await small()
  const [one, two] = [await bookedFor(0, 30), await bookedFor(60, 90)]
  for (const { id } of [one, two]) await course.assign(id, worker.id)
  const { id } = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items[0]
  const preview = async (query: string) =>
    (await course.send('POST', `lablet-definitions/${id}/placement-preview${query}`)).json
  expect(await preview('?duration_minutes=20')).toMatchObject({ candidates: [] })
  expect(await preview(`?start=${at(36)}&duration_minutes=19`)).toMatchObject({
    candidates: [{ worker_id: worker.id }],
    outcome: 'place',
  })
  expect((await preview(`?start=${at(36)}&duration_minutes=40`)).candidates).toEqual([])
})

import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const reserved = async (id: string) => Object.keys((await course.get(id)).reservations).sort()
const sum = (worker: Worker) => Object.values(worker.reservations).reduce((total, each) => total + each.memory_gb, 0)

it('reserves capacity on the worker and updates both documents', async () => {
  const worker = await course.serving()
  await course.edit(worker.id, () => ({ wanted_by: ['other'] }))
  const { id } = await course.book()
  expect((await course.assign(id, worker.id)).json).toMatchObject({ status: 'SCHEDULED', worker_id: worker.id })
  expect(await course.get(worker.id)).toMatchObject({
    reservations: { [id]: { memory_gb: 2, cpu_cores: 2, nodes: 2 } },
    capacity: { reserved: { memory_gb: 2, cpu_cores: 2, storage_gb: 2, nodes: 2 } },
    wanted_by: ['other'],
  })
  const [decided] = (await course.send('GET', `lablet-sessions/${id}/decisions`)).json.items
  expect(decided).toMatchObject({ service: 'resource-scheduler', because: { message: 'the test says so' } })
})

it('returns the same result again', async () => {
  const worker = await course.serving()
  const { id } = await course.book()
  const first = await course.assign(id, worker.id)
  expect((await course.assign(id, worker.id)).json).toEqual(first.json)
})

const AT = '2026-01-01T00:00:00.000Z'
// biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
const DRAIN = { requested_at: AT, by: 'me', reason: '', then: 'STOPPED' as const, deadline: AT }

describe('refuses', () => {
  it.each<[string, Partial<Worker>]>([
    ['a worker that does not run', { status: 'STOPPED' }],
    ['a worker that does not serve', { service_status: 'STARTING' }],
    ['a worker that is to be stopped', { desired_status: 'STOPPED' }],
    ['a cordoned worker', { cordoned: true }],
    ['a draining worker', { drain: DRAIN }],
    [
      'one that is full',
      {
        capacity: {
          declared: { cpu_cores: 1, memory_gb: 1, storage_gb: 1, max_nodes: 1 },
          reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
        },
      },
    ],
  ])('%s, and writes nothing', async (_, change) => {
    const worker = await course.serving(change)
    const { id } = await course.book()
    expect(await course.assign(id, worker.id)).toMatchObject({ status: 409, json: { code: 'no_capacity' } })
    expect(await reserved(worker.id)).toEqual([])
    expect((await course.session(id)).status).toBe('PENDING')
  })

  it('a session that is canceled, placed on another worker or ended', async () => {
    const [one, two] = [await course.serving(), await course.serving()]
    const placed = await course.placed(one.id)
    expect((await course.assign(placed.id, two.id)).json.code).toBe('illegal_transition')
    const { id } = await course.book()
    await course.send('DELETE', `lablet-sessions/${id}`)
    expect((await course.assign(id, two.id)).json.code).toBe('illegal_transition')
    expect(await reserved(two.id)).toEqual([])
  })

  it('an older leader, on the worker and on the session', async () => {
    const worker = await course.serving()
    const [one, two] = [await course.book(), await course.book()]
    await course.assign(one.id, worker.id, 7)
    const late = await course.assign(two.id, worker.id, 6)
    expect(late.json.code).toBe('stale_leader')
  })
})

it('50 concurrent assignments never exceed the capacity, and refused ones leave nothing', async () => {
  const worker = await course.serving({
    capacity: {
      declared: { cpu_cores: 48, memory_gb: 17, storage_gb: 200, max_nodes: 100 },
      reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
    },
  })
  const sessions = []
  for (let n = 0; n < 50; n++) sessions.push(await course.book())
  const answers = await Promise.all(sessions.map(({ id }) => course.assign(id, worker.id)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(8)
  expect(answers.filter(({ json }) => json.code === 'no_capacity')).toHaveLength(42)
  const now = await course.get(worker.id)
  expect(sum(now)).toBe(16)
  expect(now.capacity.reserved.memory_gb).toBe(16)
  const placed = (await course.send('GET', 'lablet-sessions?status=SCHEDULED')).json.items
  expect(placed.map((each: { id: string }) => each.id).sort()).toEqual(await reserved(worker.id))
})

it('two leaders that place one session on two workers leave it on one', async () => {
  const [one, two] = [await course.serving(), await course.serving()]
  const { id } = await course.book()
  await Promise.all([course.assign(id, one.id), course.assign(id, two.id)])
  const { worker_id } = await course.session(id)
  const books = { [one.id]: await reserved(one.id), [two.id]: await reserved(two.id) }
  expect(books[worker_id ?? '']).toEqual([id])
  expect(Object.values(books).flat()).toEqual([id])
})

describe('a crash between the two writes', () => {
  let worker: Worker
  let id: string
  beforeEach(async () => {
    worker = await course.serving()
    id = (await course.book()).id
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: crash })
    expect((await course.assign(id, worker.id)).status).toBe(503)
    expect(await reserved(worker.id)).toEqual([id])
    expect((await course.session(id)).status).toBe('PENDING')
  })

  it('is repaired by a retry', async () => {
    expect((await course.assign(id, worker.id)).json).toMatchObject({ status: 'SCHEDULED' })
    expect(await reserved(worker.id)).toEqual([id])
  })

  it('is repaired by a retry with another worker', async () => {
    const other = await course.serving()
    expect((await course.assign(id, other.id)).json).toMatchObject({ worker_id: other.id })
    expect([await reserved(worker.id), await reserved(other.id)]).toEqual([[], [id]])
  })

  it('is repaired by housekeeping', async () => {
    await course.tend()
    expect(await reserved(worker.id)).toEqual([])
    expect((await course.session(id)).status).toBe('PENDING')
  })
})

it('returns the same result after a crash behind both writes', async () => {
  const worker = await course.serving()
  const { id } = await course.book()
  course.store.interrupt({ kind: 'session', write: 'replace', when: 'after', run: crash })
  expect((await course.assign(id, worker.id)).status).toBe(503)
  expect((await course.assign(id, worker.id)).json.status).toBe('SCHEDULED')
  await course.tend()
  expect(await reserved(worker.id)).toEqual([id])
})

describe('while another replica writes', () => {
  it('restarts when housekeeping releases its reservation', async () => {
    const replica = aCourse({ store: course.store })
    const worker = await course.serving()
    const { id } = await course.book()
    const run = async () => {
      await replica.tend(180_000)
      expect(await reserved(worker.id)).toEqual([])
    }
    course.store.interrupt({ kind: 'worker', write: 'replace', when: 'after', run })
    expect((await course.assign(id, worker.id)).json.status).toBe('SCHEDULED')
    expect(await reserved(worker.id)).toEqual([id])
  })

  it('writes nothing when the session is canceled at the same time', async () => {
    const replica = aCourse({ store: course.store })
    const worker = await course.serving()
    const { id } = await course.book()
    const run = () => replica.send('DELETE', `lablet-sessions/${id}`)
    course.store.interrupt({ kind: 'worker', write: 'replace', when: 'after', run })
    expect((await course.assign(id, worker.id)).json.code).toBe('illegal_transition')
    expect(await reserved(worker.id)).toEqual([])
  })

  it('keeps its reservation against a concurrent release', async () => {
    const replica = aCourse({ store: course.store })
    const worker = await course.serving()
    const { id } = await course.book()
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: crash })
    await course.assign(id, worker.id)
    await course.clock.advance(120_000)
    // The cleanup has incremented the version of the session, and not yet released the reservation.
    course.store.interrupt({
      kind: 'session',
      write: 'replace',
      when: 'after',
      run: () => replica.assign(id, worker.id),
    })
    await course.tend(1_000)
    expect((await course.session(id)).status).toBe('SCHEDULED')
    expect(await reserved(worker.id)).toEqual([id])
  })
})

it('refuses to stop the worker of a session that is about to begin', async () => {
  const worker = await course.serving()
  await course.placed(worker.id)
  expect((await course.act(worker.id, 'stop')).json.code).toBe('worker_has_sessions')
  expect((await course.act(worker.id, 'terminate')).json.code).toBe('worker_has_sessions')
})

import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { WORKER_UNAVAILABLE } from '@lcm/domain/session/lablet-session'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

type Role = 'admin' | 'operator' | 'user'

const move = (id: string, as: Role = 'operator', key?: string) =>
  course.send('POST', `lablet-sessions/${id}/move`, {
    as,
    json: { reason: 'its CML is silent' },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  })
const reserved = async (id = workerId) => Object.keys((await course.get(id)).reservations)
const isCondemned = async (labId: string) => (await course.lab(labId)).pending_action?.action === 'delete'

/** A session of a user, with a running lab. */
async function withLab(...statuses: Parameters<Course['placed']>[1][]) {
  const session = await course.placed(workerId, 'INSTANTIATING')
  const { id: labId } = (await course.bind(session.id)).json
  await course.bind(session.id, { lab_id: 'cml-1' })
  await course.ports(labId)
  await course.reportLab(labId, { status: 'BOOTED' })
  for (const status of statuses) await course.reportSession(session.id, { status })
  return { id: session.id, labId }
}

async function fails(id: string): Promise<void> {
  const since = toInstant(course.clock.now())
  const down = reason('lab_down', { worker: 'w', status: 'STOPPED', restarting: false })
  await course.reportSession(id, { conditions: [{ type: WORKER_UNAVAILABLE, status: true, reason: down, since }] })
}

describe('moving a session', () => {
  it('returns it to the queue, has its lab deleted, and keeps the capacity until then', async () => {
    const { id, labId } = await withLab('READY', 'RUNNING')
    await fails(id)
    const { name } = await course.get(workerId)
    const { status, json } = await move(id)
    expect([status, json]).toMatchObject([
      202,
      {
        ...{ status: 'PENDING', worker_id: null, lab_record_id: null, access: [], pipeline: null, conditions: [] },
        waiting_reason: { code: 'session_moved_by' },
        health: { status: 'DOWN' },
      },
    ])
    expect(json.state_history.at(-1)).toMatchObject({
      from: 'RUNNING',
      because: { params: { worker: name, worker_id: workerId, reason: 'its CML is silent' } },
    })
    expect([await isCondemned(labId), await reserved()]).toEqual([true, [id]])
    expect((await course.assign(id, workerId)).json.code).toBe('no_capacity')
    const other = await course.serving()
    expect((await course.assign(id, other.id)).json.worker_id).toBe(other.id)
    await course.clock.advance(1_000)
    await course.scan(workerId, [])
    expect([await reserved(), await reserved(other.id)]).toEqual([[], [id]])
  })

  it.each(['SCHEDULED', 'INSTANTIATING', 'READY'] as const)('works when it is %s', async status => {
    const path = (['INSTANTIATING', 'READY'] as const).slice(0, { SCHEDULED: 0, INSTANTIATING: 1, READY: 2 }[status])
    const { id } = await course.placed(workerId, ...path)
    await fails(id)
    expect((await move(id)).json).toMatchObject({ status: 'PENDING', worker_id: null })
    expect(await reserved()).toEqual([])
  })

  it('is for its owner only while it fails', async () => {
    const { id } = await withLab('READY', 'RUNNING')
    expect((await move(id, 'user')).json).toMatchObject({
      ...{ code: 'session_wrong_state', reason: { code: 'session_works' } },
    })
    await fails(id)
    expect((await move(id, 'user')).json.status).toBe('PENDING')
  })

  it('saves the work in its lab first while CML answers, and leaves it to the lablet-controller to move it', async () => {
    const { id, labId } = await withLab('READY', 'RUNNING')
    const { status, json } = await move(id)
    const { requested_at } = json.save
    expect([status, json]).toMatchObject([
      202,
      {
        ...{ status: 'RUNNING', worker_id: workerId, health: { status: 'OK' } },
        move: { requested_at, reason: 'its CML is silent' },
      },
    ])
    expect(requested_at).toBe(json.updated_at)
    expect((await move(id)).json).toMatchObject({ code: 'session_wrong_state', reason: { code: 'move_in_progress' } })
    expect([await isCondemned(labId), await reserved()]).toEqual([false, [id]])
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    expect(await course.session(id)).toMatchObject({ status: 'PENDING', move: null })
    expect([await isCondemned(labId), await reserved()]).toEqual([true, [id]])
  })

  it('does not wait for a save that is switched off', async () => {
    await course.define({ saves_enabled: false })
    const { id } = await withLab('READY', 'RUNNING')
    expect((await move(id)).json.status).toBe('PENDING')
  })

  it('is refused while it moves already, and when it is over', async () => {
    const { id } = await withLab('READY')
    await fails(id)
    await move(id)
    expect((await move(id)).json).toMatchObject({ code: 'session_wrong_state', reason: { code: 'move_in_progress' } })
    await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
    expect((await move(id)).json.reason.code).toBe('session_ended')
  })

  it('moves it once, however often the request is repeated', async () => {
    const { id } = await withLab('READY', 'RUNNING')
    await fails(id)
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'after', run: crash })
    expect((await move(id, 'operator', 'k')).status).toBe(503)
    const other = await course.serving()
    await course.assign(id, other.id)
    await course.reportSession(id, { status: 'INSTANTIATING' })
    const { id: newLab } = (await course.bind(id, { lab_id: 'cml-2' })).json
    await course.clock.advance(31_000)
    expect((await move(id, 'operator', 'k')).json).toMatchObject({ status: 'INSTANTIATING', worker_id: other.id })
    expect([await isCondemned(newLab), await reserved(other.id)]).toEqual([false, [id]])
  })
})

describe('a crash while a session moves', () => {
  it('before the session has left costs no lab', async () => {
    const { id, labId } = await withLab('READY', 'RUNNING')
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: crash })
    expect((await move(id)).status).toBe(503)
    expect([(await course.session(id)).status, await isCondemned(labId)]).toEqual(['RUNNING', false])
  })

  it.each([
    ['session', 'after'],
    ['lab_record', 'before'],
    ['lab_record', 'after'],
  ] as const)(
    'at the %s, %s the write, still has the old lab deleted and its capacity released',
    async (kind, when) => {
      const { id, labId } = await withLab('READY', 'RUNNING')
      await fails(id)
      course.store.interrupt({ kind, write: 'replace', when, run: crash })
      expect((await move(id)).status).toBe(503)
      expect((await course.session(id)).status).toBe('PENDING')
      expect(await reserved()).toEqual([id])
      const other = await course.serving()
      await course.assign(id, other.id)
      expect(await isCondemned(labId)).toBe(true)
      await course.reportLab(labId, { status: 'DELETED', pending_action: null })
      await course.tend()
      expect([await reserved(), (await course.get(workerId)).ports]).toEqual([[], {}])
    },
  )

  it('by a controller costs no lab either', async () => {
    const { id, labId } = await withLab('READY', 'RUNNING')
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: crash })
    await course.reportSession(id, { status: 'PENDING', worker_id: null }, 'resource-scheduler')
    expect([(await course.session(id)).status, await isCondemned(labId)]).toEqual(['RUNNING', false])
    await course.reportSession(id, { status: 'PENDING', worker_id: null }, 'resource-scheduler')
    expect(await isCondemned(labId)).toBe(true)
  })
})

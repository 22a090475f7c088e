import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

const reserved = async () => Object.keys((await course.get(workerId)).reservations)
const portOwners = async () => Object.keys((await course.get(workerId)).ports)
/** A session with a running lab. */
async function withLab(...statuses: Parameters<Course['placed']>[1][]) {
  const session = await course.placed(workerId, 'INSTANTIATING')
  const { id: labId } = (await course.bind(session.id)).json
  await course.bind(session.id, { lab_id: 'cml-1' })
  await course.ports(labId)
  await course.reportLab(labId, { status: 'BOOTED' })
  for (const status of statuses) await course.reportSession(session.id, { status })
  return { id: session.id, labId }
}

describe('a report', () => {
  it('moves the session along its lifecycle, in history and journal', async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING', 'READY', 'RUNNING')
    const session = await course.session(id)
    expect(session.state_history.map(({ to }) => to)).toEqual([
      'PENDING',
      'SCHEDULED',
      'INSTANTIATING',
      'READY',
      'RUNNING',
    ])
    expect(await course.journal('transition', `session:${id}`)).toHaveLength(5)
    expect(await course.journal('decision', `session:${id}`)).toHaveLength(4)
  })

  it.each([
    ['SCHEDULED', 'by its assignment only'],
    ['RUNNING', 'PENDING cannot become RUNNING'],
    ['STOPPED', 'PENDING cannot become STOPPED'],
  ])('of %s is refused', async (status, detail) => {
    const { id } = await course.book()
    const answer = await course.reportSession(id, { status })
    expect(answer).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    expect(answer.json.detail).toContain(detail)
  })

  it('removes a session from its worker only to place it again', async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    expect((await course.reportSession(id, { worker_id: null })).json.code).toBe('illegal_transition')
  })

  it('stores the waiting reason', async () => {
    const { id } = await course.book()
    const waiting_reason = textReason('waits for w-1')
    const reported = await course.reportSession(id, { waiting_reason }, 'resource-scheduler')
    expect(reported.json).toMatchObject({ waiting_reason, status: 'PENDING' })
  })

  it('requires its base version and the newest leader', async () => {
    const { id, version } = await course.book()
    const json = {
      changes: { waiting_reason: textReason('x') },
      decision: { action: 'wait', because: textReason('x') },
    }
    const path = `lablet-sessions/${id}/status`
    const by = 'resource-scheduler'
    expect((await course.fenced('PATCH', path, json, { by })).json.code).toBe('precondition_required')
    expect((await course.fenced('PATCH', path, json, { by, ifMatch: 9 })).json.code).toBe('version_mismatch')
    expect((await course.fenced('PATCH', path, json, { by, ifMatch: version, epoch: 5 })).status).toBe(200)
    expect((await course.fenced('PATCH', path, json, { by, ifMatch: version + 1, epoch: 4 })).json.code).toBe(
      'stale_leader',
    )
  })
})

describe('capacity', () => {
  it('of a session without a lab is free as soon as the session has ended', async () => {
    const { id } = await course.placed(workerId)
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    expect(await reserved()).toEqual([])
    await course.assign(id, workerId)
    await course.reportSession(id, { status: 'TERMINATED' })
    expect(await reserved()).toEqual([])
  })

  it('is kept while a lab is removed, and freed by the release', async () => {
    const { id, labId } = await withLab('READY', 'RUNNING')
    await course.reportSession(id, { access: [{ name: 'r1', node: 'r1', protocol: 'serial', host: 'h', port: 2000 }] })
    await course.reportSession(id, { status: 'STOPPING' })
    expect(await reserved()).toEqual([id])
    await course.reportLab(labId, { status: 'DELETED' })
    expect([await reserved(), await portOwners()]).toEqual([[id], [labId]])
    const released = await course.release(id)
    expect(released.json).toMatchObject({ status: 'STOPPING', access: [], worker_id: workerId })
    expect([await reserved(), await portOwners()]).toEqual([[], []])
    expect((await course.get(workerId)).capacity.reserved.memory_gb).toBe(0)
    expect((await course.release(id)).json).toEqual(released.json)
  })

  it.each(['worker', 'session'])('is freed after a crash at the %s too', async kind => {
    const { id, labId } = await withLab('STOPPING')
    await course.reportLab(labId, { status: 'DELETED' })
    course.store.interrupt({ kind, write: 'replace', when: 'after', run: crash })
    await course.release(id)
    await course.release(id)
    expect([await reserved(), await portOwners()]).toEqual([[], []])
  })

  it('is kept by a release before the lab is recorded as stopped', async () => {
    const { id, labId } = await withLab('STOPPING')
    await course.release(id)
    expect([await reserved(), await portOwners()]).toEqual([[id], [labId]])
  })

  it('of a live session is never freed', async () => {
    const { id } = await withLab('READY')
    await course.release(id)
    expect(await reserved()).toEqual([id])
  })

  it('of a lab that may still run stays in quarantine when its session leaves', async () => {
    const { id, labId } = await withLab()
    const left = await course.reportSession(id, { status: 'PENDING', worker_id: null })
    expect(left.json).toMatchObject({ status: 'PENDING', worker_id: null, lab_record_id: null, pipeline: null })
    expect(await course.lab(labId)).toMatchObject({ pending_action: { action: 'delete' }, session_id: id })
    await course.release(id)
    await course.tend()
    expect(await reserved()).toEqual([id])
    expect((await course.assign(id, workerId)).json.code).toBe('no_capacity')
    const other = await course.serving()
    expect((await course.assign(id, other.id)).json.worker_id).toBe(other.id)
    expect(await reserved()).toEqual([id])
    await course.clock.advance(1_000)
    await course.scan(workerId, [])
    expect(await course.lab(labId)).toMatchObject({ status: 'DELETED', pending_action: null })
    expect([await reserved(), await portOwners()]).toEqual([[], []])
    expect(Object.keys((await course.get(other.id)).reservations)).toEqual([id])
  })

  it('stays in quarantine after the end of a session whose lab could not be removed', async () => {
    const { id, labId } = await withLab('STOPPING')
    await course.reportLab(labId, { status: 'ERROR', last_error: 'it would not stop' })
    await course.reportSession(id, { status: 'STOPPED' })
    await course.reportSession(id, { status: 'TERMINATED' })
    await course.release(id)
    await course.tend()
    expect(await reserved()).toEqual([id])
    expect(await course.lab(labId)).toMatchObject({ status: 'ERROR', pending_action: null })
    await course.tend(11 * 60_000)
    expect(await course.lab(labId)).toMatchObject({ pending_action: { action: 'delete' } })
    await course.scan(workerId, [{ lab_id: 'cml-1', state: 'STOPPED' }])
    expect(await reserved()).toEqual([])
  })

  it('and lab stay with a session that became READY before it could leave', async () => {
    const { id, labId } = await withLab()
    const asRead = await course.session(id)
    const becomesReady = () => course.put('sessions', { ...asRead, status: 'READY' })
    course.store.interrupt({ kind: 'session', write: 'replace', when: 'before', run: becomesReady })
    expect((await course.reportSession(id, { status: 'PENDING', worker_id: null })).json.code).toBe('version_mismatch')
    expect(await course.session(id)).toMatchObject({ status: 'READY', lab_record_id: labId })
    expect(await course.lab(labId)).toMatchObject({ pending_action: null })
  })

  it('of a terminated worker is free', async () => {
    const { id, labId } = await withLab()
    await course.act(workerId, 'terminate', { force: true })
    await course.moveTo(workerId, 'TERMINATING', 'TERMINATED')
    expect(await course.lab(labId)).toMatchObject({ status: 'ORPHANED' })
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    expect([await reserved(), await portOwners()]).toEqual([[], []])
  })

  it.each(['lab_record', 'session'])('and lab are cleaned up also after a crash at the %s', async kind => {
    const { id, labId } = await withLab()
    course.store.interrupt({ kind, write: 'replace', when: 'after', run: crash })
    expect((await course.reportSession(id, { status: 'PENDING', worker_id: null })).status).toBe(503)
    expect((await course.session(id)).status).toBe('PENDING')
    await course.tend()
    expect(await course.lab(labId)).toMatchObject({ pending_action: { action: 'delete' } })
    await course.reportLab(labId, { status: 'DELETED', pending_action: null })
    await course.tend()
    expect([await reserved(), await portOwners()]).toEqual([[], []])
  })
})

it('clears owner and ports of a lab for reuse after the release', async () => {
  await course.define({ lab_reuse: true })
  const { id, labId } = await withLab('STOPPING')
  await course.reportLab(labId, { status: 'WIPED' })
  await course.release(id)
  expect(await course.lab(labId)).toMatchObject({ session_id: null, ports: {}, pending_action: null, status: 'WIPED' })
  expect([await reserved(), await portOwners()]).toEqual([[], []])
})

import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

describe('a session that no controller ends', () => {
  it.each([[], ['INSTANTIATING'], ['INSTANTIATING', 'READY'], ['INSTANTIATING', 'READY', 'RUNNING']] as const)(
    'is EXPIRED five minutes after its end, from SCHEDULED %s',
    async (...statuses) => {
      const { id } = await course.placed((await course.serving()).id, ...statuses)
      await course.clock.advance(64 * MINUTE_MS)
      await course.tend(100)
      expect((await course.session(id)).status).not.toBe('EXPIRED')
      await course.clock.advance(2 * MINUTE_MS)
      await course.tend(100)
      expect(await course.session(id)).toMatchObject({ status: 'EXPIRED', worker_id: expect.any(String) })
    },
  )

  it('is EXPIRED also when it was never placed', async () => {
    const { id } = await course.book({ duration_minutes: 1 })
    await course.clock.advance(7 * MINUTE_MS)
    await course.tend(100)
    const session = await course.session(id)
    expect(session).toMatchObject({ status: 'EXPIRED', worker_id: null })
    expect(session.state_history.at(-1)?.because.code).toBe('ended_by_housekeeping')
  })

  it('is left to its controller while its lab is being removed', async () => {
    const { id } = await course.placed((await course.serving()).id, 'INSTANTIATING', 'STOPPING')
    await course.clock.advance(70 * MINUTE_MS)
    await course.tend(100)
    expect((await course.session(id)).status).toBe('STOPPING')
  })
})

it('deletes ended sessions after the retention, and no others', async () => {
  const over = await course.book()
  await course.send('DELETE', `lablet-sessions/${over.id}`)
  await course.clock.advance(29 * DAY_MS)
  await course.tend(11 * MINUTE_MS)
  expect((await course.send('GET', `lablet-sessions/${over.id}`)).status).toBe(200)
  await course.clock.advance(2 * DAY_MS)
  const now = await course.book()
  await course.tend(11 * MINUTE_MS)
  expect((await course.send('GET', `lablet-sessions/${over.id}`)).status).toBe(404)
  expect((await course.send('GET', `lablet-sessions/${now.id}`)).status).toBe(200)
})

it('deletes labs that people removed after the same time', async () => {
  const { id } = await course.serving()
  const statuses = async () =>
    (await course.send('GET', 'lab-records')).json.items.map((lab: { status: string }) => lab.status)
  await course.clock.advance(1_000)
  await course.scan(id, [{ lab_id: 'a' }, { lab_id: 'b' }])
  await course.clock.advance(1_000)
  await course.scan(id, [{ lab_id: 'b' }])
  await course.clock.advance(29 * DAY_MS)
  await course.tend(11 * MINUTE_MS)
  expect(await statuses()).toEqual(['ORPHANED', 'BOOTED'])
  await course.clock.advance(2 * DAY_MS)
  await course.tend(11 * MINUTE_MS)
  expect(await statuses()).toEqual(['BOOTED'])
})

it('marks labs of a terminated worker ORPHANED, also after a crash', async () => {
  const { id } = await course.serving()
  await course.scan(id, [{ lab_id: 'a' }, { lab_id: 'b' }])
  await course.act(id, 'terminate')
  await course.moveTo(id, 'TERMINATING')
  course.store.interrupt({ kind: 'lab_record', write: 'replace', when: 'before', run: crash })
  await expect(course.moveTo(id, 'TERMINATED')).rejects.toThrow()
  await course.tend()
  const { items } = (await course.send('GET', 'lab-records')).json
  expect(items.map((lab: { status: string }) => lab.status)).toEqual(['ORPHANED', 'ORPHANED'])
})

describe('a lab that is kept for reuse', () => {
  const OTHER = TOPOLOGY.replace('ram: 1024', 'ram: 4096')
  let definitionId: string
  let workerId: string
  let labId: string
  beforeEach(async () => {
    definitionId = (await course.define({ lab_reuse: true })).id
    workerId = (await course.serving()).id
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    labId = (await course.bind(id, { lab_id: 'cml-1' })).json.id
    await course.reportSession(id, { status: 'STOPPING' })
    await course.reportLab(labId, { status: 'WIPED' })
    await course.release(id)
    await course.reportSession(id, { status: 'STOPPED' })
    await course.reportSession(id, { status: 'ARCHIVED' })
  })
  const replaceIt = () => course.send('PUT', `lablet-definitions/${definitionId}`, { json: { topology: OTHER } })
  const isCondemned = async () => (await course.lab(labId)).pending_action?.action === 'delete'

  it('is removed once its version can’t be booked', async () => {
    await course.tend()
    expect(await isCondemned()).toBe(false)
    await replaceIt()
    await course.tend()
    const { pending_action } = await course.lab(labId)
    expect(pending_action).toMatchObject({
      action: 'delete',
      by: expect.stringContaining('cannot be booked any more'),
    })
  })

  it('is removed also when its definition is deleted', async () => {
    await course.send('DELETE', `lablet-definitions/${definitionId}`)
    await course.tend()
    expect(await isCondemned()).toBe(true)
  })

  it('stays until every session that was booked before has ended', async () => {
    const { id } = await course.book()
    await replaceIt()
    await course.tend()
    expect(await isCondemned()).toBe(false)
    await course.send('DELETE', `lablet-sessions/${id}`)
    await course.tend()
    expect(await isCondemned()).toBe(true)
  })

  it('stays while its worker serves no labs, and while a person runs it', async () => {
    await replaceIt()
    await course.edit(workerId, () => ({ service_status: 'UNAVAILABLE' }))
    await course.tend()
    expect(await isCondemned()).toBe(false)
    await course.edit(workerId, () => ({ service_status: 'AVAILABLE' }))
    await course.reportLab(labId, { status: 'BOOTED' })
    await course.tend()
    expect(await isCondemned()).toBe(false)
  })

  it('is never one that people created', async () => {
    await course.scan(workerId, [
      { lab_id: 'cml-1', state: 'DEFINED_ON_CORE' },
      { lab_id: 'theirs', state: 'STOPPED' },
    ])
    await replaceIt()
    await course.tend()
    const { items } = (await course.send('GET', 'lab-records')).json
    const pending = items.map((lab: LabRecord) => [lab.lab_id, lab.pending_action?.action])
    expect(Object.fromEntries(pending)).toEqual({ 'cml-1': 'delete', theirs: undefined })
  })
})

it('writes nothing in an idle fleet', async () => {
  const worker = await course.serving()
  const session = await course.placed(worker.id, 'INSTANTIATING')
  const lab = (await course.bind(session.id, { lab_id: 'cml-1' })).json
  await course.reportSession(session.id, { status: 'READY' })
  const read = async () => [await course.get(worker.id), await course.session(session.id), await course.lab(lab.id)]
  const versions = (await read()).map(({ version }) => version)
  await course.tend(10 * MINUTE_MS)
  expect((await read()).map(({ version }) => version)).toEqual(versions)
})

it('marks a session that waits beyond its start as DOWN, once', async () => {
  await course.serving()
  const { id, version } = await course.book()
  expect((await course.session(id)).health.status).toBe('OK')
  await course.tend(5 * MINUTE_MS)
  expect(await course.session(id)).toMatchObject({
    version: version + 1,
    health: { status: 'DOWN', reason: { code: 'waiting_for_placement' } },
  })
  const { items } = (await course.send('GET', `lablet-sessions/${id}/decisions`)).json
  expect(items).toMatchObject([{ action: 'health_down', because: { code: 'waiting_for_placement' } }])
  const found = async (path: string) => (await course.send('GET', path)).json.items.length
  expect(await found('lablet-sessions?health=DOWN')).toBe(1)
  expect([await found('lablet-sessions?health=OK'), await found('workers?health=DOWN')]).toEqual([0, 0])
  expect(await found('workers?health=OK')).toBe(1)
})

import { toInstant } from '@lcm/domain/instant'
import { changedAt } from '@lcm/domain/lab/lab-record'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

const labs = async (query = '') => (await course.send('GET', `lab-records?${query}`)).json.items
/** Each scan starts a second after the last. */
const scan = async (seen: readonly object[], more: object = {}) => {
  await course.clock.advance(1_000)
  return (await course.scan(workerId, seen, more)).json
}

it('records the labs that it finds, and writes nothing when nothing changes', async () => {
  expect(await scan([{ lab_id: 'a' }, { lab_id: 'b', state: 'STOPPED' }])).toEqual({
    created: 2,
    updated: 0,
    orphaned: 0,
  })
  const before = await labs()
  expect(before.map((lab: { status: string }) => lab.status).sort()).toEqual(['BOOTED', 'STOPPED'])
  expect((await course.get(workerId)).labs_count).toBe(2)
  expect((await course.send('GET', 'workers')).json.items[0].labs_count).toBe(2)
  expect(await scan([{ lab_id: 'a' }, { lab_id: 'b', state: 'STOPPED' }])).toEqual({
    created: 0,
    updated: 0,
    orphaned: 0,
  })
  expect(await labs()).toEqual(before)
})

it('distinguishes the last change from the last observation', async () => {
  await scan([{ lab_id: 'a', state: 'STOPPED' }])
  const [found] = await labs()
  expect(changedAt(found)).toBe(found.created_at)
  await course.clock.advance(3_600_000)
  await scan([{ lab_id: 'a', state: 'STOPPED' }])
  const [seen] = await labs()
  expect(seen.last_seen_at > found.last_seen_at).toBe(true)
  expect(changedAt(seen)).toBe(found.created_at)
  await scan([{ lab_id: 'a', state: 'STOPPED', title: 'new' }])
  const [changed] = await labs()
  expect(changedAt(changed)).toBe(toInstant(course.clock.now()))
})

it('has no labs before the first scan', async () => {
  expect((await course.get(workerId)).labs_count).toBeNull()
})

it('updates changed labs', async () => {
  await scan([{ lab_id: 'a' }])
  expect(await scan([{ lab_id: 'a', state: 'STOPPED', title: 'new' }])).toMatchObject({ updated: 1 })
  const [lab] = await labs()
  expect(lab).toMatchObject({ status: 'STOPPED', raw_state: 'STOPPED', title: 'new' })
  expect(await course.journal('transition', `lab_record:${lab.id}`)).toHaveLength(2)
})

it('keeps the nodes of the last scan that listed them', async () => {
  const nodes = [{ label: 'r1', node_definition: 'iosv', state: 'BOOTED' }]
  await scan([{ lab_id: 'a', nodes }])
  expect((await labs())[0].nodes).toEqual(nodes)
  await scan([{ lab_id: 'a', title: 'new' }])
  expect((await labs())[0]).toMatchObject({ title: 'new', nodes })
})

describe('a lab that a scan misses', () => {
  beforeEach(() => scan([{ lab_id: 'a' }]))

  it('is ORPHANED by a complete scan only, and restored when it reappears', async () => {
    expect(await scan([], { is_complete: false })).toMatchObject({ orphaned: 0 })
    expect(await scan([])).toMatchObject({ orphaned: 1 })
    expect((await labs())[0].status).toBe('ORPHANED')
    expect(await scan([])).toMatchObject({ orphaned: 0 })
    expect((await course.get(workerId)).labs_count).toBe(0)
    await scan([{ lab_id: 'a' }])
    expect((await labs())[0].status).toBe('BOOTED')
  })

  it('stays when it was seen after the scan began', async () => {
    const began_at = toInstant(course.clock.now() - 1)
    expect(await scan([], { began_at })).toMatchObject({ orphaned: 0 })
  })
})

describe('the controller’s own report', () => {
  it.each([
    ['WIPED', 'DEFINED_ON_CORE', 'WIPED'],
    ['DELETING', 'STOPPED', 'DELETING'],
    ['STARTING', 'STARTED', 'STARTING'],
    ['ERROR', 'STOPPED', 'STOPPED'],
  ])('of %s is %s in CML, and %s in LCM', async (status, state, expected) => {
    await scan([{ lab_id: 'a' }])
    const [{ id }] = await labs()
    await course.reportLab(id, { status })
    await scan([{ lab_id: 'a', state }])
    expect((await course.lab(id)).status).toBe(expected)
  })

  it('is not overwritten by a scan that started before it', async () => {
    await scan([{ lab_id: 'a', state: 'STOPPED' }])
    const [{ id }] = await labs()
    const began_at = toInstant(course.clock.now() + 500)
    await course.clock.advance(1_000)
    await course.reportLab(id, { status: 'DELETED' })
    await scan([{ lab_id: 'a', state: 'STOPPED' }], { began_at })
    expect((await course.lab(id)).status).toBe('DELETED')
  })
})

describe('a lab that is being imported', () => {
  it('is not ORPHANED before it exists', async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    const lab = (await course.bind(id)).json
    expect(await scan([])).toMatchObject({ orphaned: 0 })
    expect((await course.lab(lab.id)).status).toBe('DEFINED')
  })

  it('is matched by its title before its id is known', async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    const lab = (await course.bind(id)).json
    expect(await scan([{ lab_id: 'cml-1', title: lab.title, state: 'DEFINED_ON_CORE' }])).toMatchObject({ created: 0 })
    expect(await course.lab(lab.id)).toMatchObject({ lab_id: 'cml-1', session_id: id })
  })

  it('holds the capacity of its session until a scan shows that it never appeared', async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    await course.bind(id)
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    expect(Object.keys((await course.get(workerId)).reservations)).toEqual([id])
    await scan([])
    expect((await course.get(workerId)).reservations).toEqual({})
  })
})

it('deletes the lab of an ended session when it reappears', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const lab = (await course.bind(id, { lab_id: 'cml-1' })).json
  await scan([])
  await course.reportSession(id, { status: 'STOPPING' })
  await course.reportSession(id, { status: 'STOPPED' })
  await course.reportSession(id, { status: 'TERMINATED' })
  await scan([{ lab_id: 'cml-1' }])
  expect(await course.lab(lab.id)).toMatchObject({ status: 'BOOTED', pending_action: { action: 'delete' } })
})

describe('an older lab of a session that has another lab now', () => {
  let old: string
  beforeEach(async () => {
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    old = (await course.bind(id, { lab_id: 'cml-1' })).json.id
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    const other = await course.serving()
    await course.assign(id, other.id)
    await course.reportSession(id, { status: 'INSTANTIATING' })
    expect((await course.bind(id, { lab_id: 'cml-2' })).json.id).not.toBe(old)
  })

  it('may be given up, and is to be deleted when it reappears', async () => {
    const failed = { status: 'ERROR', pending_action: null, last_error: 'delete: it would not stop' }
    expect(await course.reportLab(old, failed)).toMatchObject({
      status: 200,
      json: { status: 'ERROR', pending_action: null },
    })
    expect(await scan([{ lab_id: 'cml-1', state: 'STOPPED' }])).toMatchObject({ updated: 1 })
    expect(await course.lab(old)).toMatchObject({ status: 'STOPPED', pending_action: { action: 'delete' } })
  })

  it('is to be deleted also when it was ORPHANED', async () => {
    await scan([])
    expect((await course.lab(old)).status).toBe('DELETED')
    await scan([{ lab_id: 'cml-1' }])
    expect(await course.lab(old)).toMatchObject({ status: 'BOOTED', pending_action: { action: 'delete' } })
  })

  it('can’t be started by any actor', async () => {
    const answer = await course.send('POST', `lab-records/${old}/start`, { json: {} })
    expect(answer.json.code).toBe('lab_in_use')
  })
})

it('keeps the runs of a lab with their sessions', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const lab = (await course.bind(id, { lab_id: 'cml-1' })).json
  for (const status of ['STARTING', 'BOOTED', 'STOPPING', 'STOPPED', 'STARTING'])
    await course.reportLab(lab.id, { status })
  expect((await course.lab(lab.id)).runs).toMatchObject([
    { session_id: id, stopped_at: expect.any(String) },
    { session_id: id, stopped_at: null },
  ])
})

it('lists by worker, session and status, without deleted labs', async () => {
  await scan([{ lab_id: 'a' }, { lab_id: 'b', state: 'STOPPED' }])
  const [{ id }] = await labs('status=STOPPED')
  await course.reportLab(id, { status: 'DELETED' })
  const counts = await Promise.all(
    [
      '',
      'include_deleted=true',
      `worker_id=${workerId}`,
      'worker_id=w-none',
      'status=DELETED',
      'session_id=ls-none',
    ].map(async query => (await labs(query)).length),
  )
  expect(counts).toEqual([1, 2, 1, 0, 1, 0])
})

it('is deleted with the record of its worker', async () => {
  await scan([{ lab_id: 'a' }])
  await course.act(workerId, 'terminate')
  await course.moveTo(workerId, 'TERMINATING', 'TERMINATED')
  expect((await labs())[0].status).toBe('ORPHANED')
  await course.clock.advance(31 * 86_400_000)
  await course.fenced('POST', 'workers/cleanup', {}, { by: 'resource-scheduler' })
  expect(await labs('include_deleted=true')).toEqual([])
})

describe('a refresh of the worker', () => {
  const isAwaited = async () => (await course.get(workerId)).labs_refresh_requested_at !== null

  it('is pending until a complete scan that started after it', async () => {
    const before = new Date(course.clock.now()).toISOString()
    await course.clock.advance(1_000)
    await course.act(workerId, 'refresh')
    expect(await isAwaited()).toBe(true)
    const { version } = await course.get(workerId)
    await course.report(workerId, version, { refresh_requested_at: null })
    expect(await isAwaited()).toBe(true)
    await scan([], { began_at: before })
    await scan([], { is_complete: false })
    expect(await isAwaited()).toBe(true)
    await scan([])
    expect(await isAwaited()).toBe(false)
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

const labs = async () => (await course.send('GET', 'lab-records?include_deleted=true')).json.items

it('is recorded before it exists, and then with its id', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const first = await course.bind(id)
  expect(first.json).toMatchObject({
    worker_id: workerId,
    lab_id: null,
    session_id: id,
    status: 'DEFINED',
    source: 'IMPORT',
    node_count: 2,
  })
  expect((await course.session(id)).lab_record_id).toBe(first.json.id)
  expect((await course.bind(id, { lab_id: 'cml-1' })).json).toMatchObject({ id: first.json.id, lab_id: 'cml-1' })
  expect((await course.bind(id)).json).toMatchObject({ id: first.json.id, lab_id: 'cml-1' })
  expect((await course.bind(id, { lab_id: 'cml-2' })).json.code).toBe('lab_in_use')
  expect((await course.get(workerId)).labs_count).toBe(1)
  const topology = await course.send('GET', `lab-records/${first.json.id}/topology`)
  expect(topology.json.topology).toContain('iol-xe')
})

it.each([
  ['lab_record', 'insert'],
  ['session', 'replace'],
] as const)('is one also after a crash at the %s', async (kind, write) => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  course.store.interrupt({ kind, write, when: 'after', run: crash })
  expect((await course.bind(id)).status).toBe(503)
  const again = await course.bind(id)
  expect((await labs()).map((lab: { id: string }) => lab.id)).toEqual([again.json.id])
  expect((await course.session(id)).lab_record_id).toBe(again.json.id)
})

it('is created once when two replicas record it at the same time', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const replica = aCourse({ store: course.store })
  course.store.interrupt({ kind: 'lab_record', write: 'insert', when: 'before', run: () => replica.bind(id) })
  const { json } = await course.bind(id)
  expect((await labs()).map((lab: { id: string }) => lab.id)).toEqual([json.id])
})

it('is a new record on every return to a worker, also when labs of others were removed meanwhile', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const { json: first } = await course.bind(id)
  const other = await course.serving()
  const moveTo = async (worker: string) => {
    await course.reportSession(id, { status: 'PENDING', worker_id: null })
    await course.clock.advance(1_000)
    await course.assign(id, worker)
    await course.reportSession(id, { status: 'INSTANTIATING' })
    return (await course.bind(id)).json
  }
  const second = await moveTo(other.id)
  await course.reportLab(first.id, { status: 'DELETED' })
  await course.reportLab(second.id, { status: 'DELETED' })
  await course.store.collection(RESOURCES.labs).remove(await course.lab(first.id))
  expect(await moveTo(other.id)).not.toMatchObject({ id: second.id })
})

it('requires a session that is being started', async () => {
  const { id } = await course.placed(workerId)
  expect((await course.bind(id)).json.code).toBe('illegal_transition')
})

it('is to be deleted when its session moves elsewhere at the same time', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  const replica = aCourse({ store: course.store })
  const run = () => replica.reportSession(id, { status: 'PENDING', worker_id: null })
  course.store.interrupt({ kind: 'lab_record', write: 'insert', when: 'after', run })
  expect((await course.bind(id)).json.code).toBe('illegal_transition')
  expect(await labs()).toMatchObject([{ session_id: id, pending_action: { action: 'delete' } }])
})

it('replaces the record that a scan created meanwhile', async () => {
  const { id } = await course.placed(workerId, 'INSTANTIATING')
  await course.scan(workerId, [{ lab_id: 'cml-1', title: 'another title' }])
  const { json } = await course.bind(id, { lab_id: 'cml-1' })
  expect(await labs()).toMatchObject([{ id: json.id, session_id: id, lab_id: 'cml-1' }])
})

it('has the number of nodes and links before the first scan', async () => {
  const link = 'links:\n  - { id: l0, n1: n2, n2: n2, i1: i0, i2: i1 }\n'
  const interfaces = 'interfaces: [{ id: i0, type: physical }, { id: i1, type: physical }]'
  const nodes = `  - { id: n2, label: sw, node_definition: unmanaged_switch, x: 0, y: 0, ${interfaces} }\n`
  await course.define({ topology: TOPOLOGY.replace('links: []\n', nodes + link) })
  const { id, needs } = await course.placed(workerId, 'INSTANTIATING')
  expect(needs.node_count).toBe(2)
  expect((await course.bind(id)).json).toMatchObject({ node_count: 3, link_count: 1 })
})

describe('a lab for reuse', () => {
  /** WIPED, and without an owner. */
  async function kept() {
    await course.define({ lab_reuse: true })
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    const { id: labId } = (await course.bind(id, { lab_id: 'cml-1' })).json
    await course.reportSession(id, { status: 'STOPPING' })
    await course.reportLab(labId, { status: 'WIPED' })
    await course.release(id)
    return labId as string
  }

  it('is claimed by one of many concurrent sessions', async () => {
    const record_id = await kept()
    const sessions = [await course.placed(workerId, 'INSTANTIATING'), await course.placed(workerId, 'INSTANTIATING')]
    const answers = await Promise.all(sessions.map(({ id }) => course.bind(id, { record_id })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const winner = answers.find(({ status }) => status === 200)?.json
    expect(winner).toMatchObject({ id: record_id, lab_id: 'cml-1' })
    expect((await course.session(winner.session_id)).lab_record_id).toBe(record_id)
    expect((await course.bind(winner.session_id, { record_id })).json.id).toBe(record_id)
  })

  it('is not claimed while another action is pending', async () => {
    const record_id = await kept()
    await course.send('POST', `lab-records/${record_id}/delete`, { json: {} })
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    expect((await course.bind(id, { record_id })).json.code).toBe('lab_in_use')
  })

  it('is not claimed while it runs, nor on another worker', async () => {
    const record_id = await kept()
    const other = await course.serving()
    const elsewhere = await course.placed(other.id, 'INSTANTIATING')
    expect((await course.bind(elsewhere.id, { record_id })).json.code).toBe('lab_in_use')
    await course.reportLab(record_id, { status: 'BOOTED' })
    const { id } = await course.placed(workerId, 'INSTANTIATING')
    expect((await course.bind(id, { record_id })).json.code).toBe('lab_gone')
  })
})

describe('a lab action', () => {
  const ask = (id: string, verb: string) =>
    course.send('POST', `lab-records/${id}/${verb}`, { as: 'operator', json: {} })

  it('is stored for the controller', async () => {
    await course.scan(workerId, [{ lab_id: 'cml-1' }])
    const [{ id }] = await labs()
    expect(await ask(id, 'stop')).toMatchObject({
      status: 202,
      json: { pending_action: { action: 'stop', by: 'operator' } },
    })
    const { version } = await course.lab(id)
    expect((await ask(id, 'stop')).json.version).toBe(version)
    expect((await ask(id, 'delete')).json.pending_action.action).toBe('delete')
    expect((await course.send('GET', `lab-records/${id}/topology`)).status).toBe(404)
  })

  it('is refused while a session uses the lab, and when the lab is deleted', async () => {
    const session = await course.placed(workerId, 'INSTANTIATING')
    const { id } = (await course.bind(session.id, { lab_id: 'cml-1' })).json
    for (const verb of ['start', 'stop', 'wipe', 'delete']) expect((await ask(id, verb)).json.code).toBe('lab_in_use')
    await course.reportLab(id, { status: 'DELETED' })
    expect((await ask(id, 'start')).json.code).toBe('lab_gone')
  })
})

import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { SessionStatus } from '@lcm/domain/session/lablet-session'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS, never, WORKER } from './testing/lab-rig.ts'

let rig: LabRig

const session = (id = 'ls-1') => rig.session(id)
const enteredAt = async (status: SessionStatus, id = 'ls-1') =>
  toMs((await session(id)).state_history.find(({ to }) => to === status)?.at ?? (await session(id)).created_at)
const theLab = async () => (await rig.labsThere())[0]?.lab_id ?? ''
const refused = (message: string) => new CloudError('invalid', { code: 'HTTP400', action: 'PUT', message })
const withLabs = (more: Partial<CmlLabs>) => aController(rig, 'one', { labs: { ...rig.labs, ...more } })

const retry = () => rig.plane.others().call('retrySession', { params: { id: 'ls-1' }, body: {} })

beforeEach(async () => {
  rig = await labRig()
})

describe('the timeline of a session', () => {
  it('its lab starts as early as its nodes need, is RUNNING from its start and stopped at its end', async () => {
    aController(rig, 'one')
    const { timeslot } = await rig.book('ls-1', 25 * MINUTE_MS)
    await rig.clock.advance(70 * MINUTE_MS)
    expect((await session()).status).toBe('ARCHIVED')
    expect((await enteredAt('INSTANTIATING')) - toMs(timeslot.start)).toBe(-3 * MINUTE_MS)
    expect(await enteredAt('RUNNING')).toBe(toMs(timeslot.start))
    expect(await enteredAt('STOPPING')).toBe(toMs(timeslot.end))
  })

  it('waits for a worker that does not serve yet', async () => {
    await rig.changeWorker({ service_status: 'STARTING' })
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'SCHEDULED', last_error: null })
    await rig.changeWorker({ service_status: 'AVAILABLE' })
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('RUNNING')
  })

  it('writes nothing while nothing changes', async () => {
    await rig.define({ saves_enabled: false })
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
    const before = (await session()).version
    await rig.clock.advance(15 * MINUTE_MS)
    expect([(await session()).status, (await session()).version]).toEqual(['RUNNING', before])
  })

  it('its lab is deleted at its end although the last scan missed it', async () => {
    rig = await labRig({ timeslotMs: 25 * MINUTE_MS })
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(24 * MINUTE_MS)
    const [lab] = await rig.records()
    await rig.plane.edit('labs', lab?.id ?? '', { status: 'ORPHANED' })
    await rig.clock.advance(3 * MINUTE_MS)
    expect((await session()).status).toBe('ARCHIVED')
    expect(await rig.labsThere()).toEqual([])
    expect((await rig.records()).map(({ status }) => status)).toEqual(['DELETED'])
  })

  it('its lab is deleted at its end although CML shows no labs just then', async () => {
    let isHidden = false
    withLabs({
      list: async (...args) => (isHidden ? [] : rig.labs.list(...args)),
      async get(...args) {
        if (isHidden) throw new CloudError('not_found', { code: 'HTTP404', action: 'GET', message: 'Lab not found' })
        return rig.labs.get(...args)
      },
    })
    await rig.book('ls-1')
    await rig.clock.advance(30 * MINUTE_MS - 10_000)
    isHidden = true
    await rig.clock.advance(40_000)
    expect(Object.keys((await rig.worker()).reservations)).toEqual(['ls-1'])
    isHidden = false
    await rig.clock.advance(3 * MINUTE_MS)
    expect((await session()).status).toBe('ARCHIVED')
    expect(await rig.labsThere()).toEqual([])
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('ends at once and releases its capacity when it is canceled before it has a lab', async () => {
    aController(rig, 'one')
    await rig.book('ls-1', 30 * MINUTE_MS)
    await rig.clock.advance(MINUTE_MS)
    await rig.cancel('ls-1')
    await rig.clock.advance(MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await rig.worker()).reservations).toEqual({})
  })
})

describe('a lab that CML users change', () => {
  beforeEach(async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
  })

  it('is reported when they stop it, and when it runs again', async () => {
    await rig.labs.stop(rig.login(), await theLab(), never)
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).conditions).toMatchObject([
      { type: 'LabStopped', status: true, reason: { code: 'lab_stopped_on_cml', params: { state: 'STOPPED' } } },
    ])
    expect((await session()).status).toBe('RUNNING')
    await rig.labs.start(rig.login(), await theLab(), never)
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: false }])
  })

  it('is started again once, unchanged, when a user requests it', async () => {
    const lab = await theLab()
    await rig.labs.stop(rig.login(), lab, never)
    await rig.clock.advance(2 * MINUTE_MS)
    const access = (await session()).access
    await retry()
    await rig.clock.advance(3 * MINUTE_MS)
    expect(await rig.labs.get(rig.login(), lab, never)).toMatchObject({ state: 'STARTED' })
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null, access })
    expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: false }])
    expect(await rig.records()).toMatchObject([{ status: 'BOOTED' }])
    const { pipeline } = await session()
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).pipeline).toEqual(pipeline)
    await rig.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await rig.labsThere()).toEqual([])
  })

  it("and that can't be started again does not end the session", async () => {
    await rig.labs.stop(rig.login(), await theLab(), never)
    rig.faults({ never_boot: ['R2'] })
    await rig.clock.advance(2 * MINUTE_MS)
    await retry()
    await rig.clock.advance(10 * MINUTE_MS)
    expect(await session()).toMatchObject({
      status: 'RUNNING',
      pipeline: { steps: { converged: { status: 'failed' } } },
    })
    await rig.clock.advance(30 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
  })

  it('is left as it is when its session ends before the restart', async () => {
    await rig.labs.stop(rig.login(), await theLab(), never)
    await rig.clock.advance(2 * MINUTE_MS)
    await retry()
    await rig.cancel('ls-1')
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect(await rig.labsThere()).toEqual([])
  })

  it('ends the session when they delete it', async () => {
    const lab = await theLab()
    for (const act of ['stop', 'wipe', 'delete'] as const) {
      await rig.labs[act](rig.login(), lab, never)
      await rig.clock.advance(act === 'delete' ? 0 : 20_000)
    }
    await rig.clock.advance(5 * MINUTE_MS)
    const last_error = reason('lab_removed').message
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error })
    expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
  })
})

describe('ports', () => {
  it('of foreign labs are not allocated', async () => {
    const tags = { lab: { version: '0.3.0' }, links: [] }
    const node = { id: 'n0', label: 'X', node_definition: 'alpine', x: 0, y: 0, tags: ['serial:2000', 'pat:2002:80'] }
    await rig.labs.import(rig.login(), { title: 'theirs', topology: JSON.stringify({ ...tags, nodes: [node] }) }, never)
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
    expect((await session()).access.map(({ port }) => port)).toEqual([2001, 2003])
    const ours = (await rig.labsThere()).find(({ title }) => title === 'Two routers ls-1')
    const nodes = await rig.labs.nodes(rig.login(), ours?.lab_id ?? '', never)
    expect(nodes.map(each => each.tags)).toEqual([['core', 'serial:2001'], ['serial:2003']])
    await rig.clock.advance(40 * MINUTE_MS)
    expect((await rig.labsThere()).map(({ title }) => title)).toEqual(['theirs'])
  })
})

describe('a reused lab', () => {
  const isOver = async (id: string) => (await session(id)).status === 'ARCHIVED'

  it('stays wiped after its session, and the next session gets the same lab and ports', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.define({ lab_reuse: true, saves_enabled: false })
    await rig.clock.advance(10 * MINUTE_MS)
    const { access } = await session('ls-1')
    expect(access).toHaveLength(2)
    await rig.clock.advance(40 * MINUTE_MS)
    expect(await isOver('ls-1')).toBe(true)
    const lab = await theLab()
    expect(await rig.records()).toMatchObject([{ lab_id: lab, status: 'WIPED', session_id: null }])
    await rig.book('ls-2')
    await rig.clock.advance(10 * MINUTE_MS)
    expect((await session('ls-2')).status).toBe('RUNNING')
    expect((await session('ls-2')).access).toEqual(access)
    expect((await rig.labsThere()).map(({ lab_id }) => lab_id)).toEqual([lab])
  })

  it('is replaced when its tags name other ports', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.define({ lab_reuse: true, saves_enabled: false })
    await rig.clock.advance(50 * MINUTE_MS)
    const lab = await theLab()
    await rig.changeWorker({ ports: { 'lr-77': { other: 2000 } } })
    await rig.book('ls-2')
    await rig.clock.advance(10 * MINUTE_MS)
    expect((await session('ls-2')).access.map(({ port }) => port)).toEqual([2001, 2002])
    expect((await rig.labsThere()).map(({ lab_id, title }) => [lab_id === lab, title])).toEqual([
      [false, 'Two routers ls-2'],
    ])
  })
})

describe('a lab that does not start', () => {
  it('names the nodes that never boot, is retried three times, and ends with the error and without a lab', async () => {
    rig.faults({ never_boot: ['R2'] })
    await rig.book('ls-1')
    aController(rig, 'one')
    await rig.clock.advance(MINUTE_MS)
    expect((await session()).pipeline?.steps.converged).toMatchObject({
      status: 'running',
      output: { booted: 1, nodes: 2, waits_for: 'R2 (STARTED)' },
    })
    await rig.clock.advance(20 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await session()).last_error).toMatch(/^converged: .*R2 \(STARTED\)/)
    expect(await rig.labsThere()).toEqual([])
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('ends with the error of CML when CML refuses the topology', async () => {
    withLabs({ import: async () => Promise.reject(refused('nodes: wrong')) })
    await rig.book('ls-1')
    await rig.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: 'tags: PUT: HTTP400: nodes: wrong' })
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('ends with an error that names the node definition that CML lacks', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    const nodes = [{ id: 'n0', label: 'R1', node_definition: 'alien-router', x: 0, y: 0 }]
    await rig.define({ topology: JSON.stringify({ lab: { version: '0.3.0' }, nodes, links: [] }), port_template: [] })
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await session()).last_error).toMatch(/^tags: .*Node definition not found: alien-router/)
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('names the worker that it waits for, and continues without losing an attempt', async () => {
    withLabs({ isConverged: async () => false })
    await rig.book('ls-1')
    await rig.clock.advance(MINUTE_MS)
    await rig.changeWorker({ service_status: 'UNAVAILABLE' })
    await rig.clock.advance(MINUTE_MS)
    expect((await session()).pipeline?.steps.converged).toMatchObject({
      status: 'blocked',
      attempts: 0,
      error: reason('worker_not_serving', { worker: (await rig.worker()).name }).message,
    })
    const { pipeline } = await session()
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).pipeline).toEqual(pipeline)
    await rig.changeWorker({ service_status: 'AVAILABLE' })
    await rig.clock.advance(8_000)
    expect((await session()).pipeline).toMatchObject({
      attempt: 1,
      steps: { converged: { status: 'running', attempts: 1, error: null } },
    })
  })

  it('continues where it was after an outage of CML', async () => {
    let isAway = false
    const gone = new CloudError('transient', { code: 'HTTP502', action: 'GET', message: 'bad gateway' })
    withLabs({ nodes: (...args) => (isAway ? Promise.reject(gone) : rig.labs.nodes(...args)) })
    await rig.book('ls-1')
    isAway = true
    await rig.clock.advance(10 * MINUTE_MS)
    expect((await session()).status).toBe('INSTANTIATING')
    isAway = false
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null })
    expect((await session()).pipeline?.attempt).toBe(1)
  })
})

describe("a lab that can't be torn down", () => {
  it('names the worker that it waits for', async () => {
    aController(rig, 'one')
    await rig.book('ls-1')
    await rig.clock.advance(10 * MINUTE_MS)
    await rig.changeWorker({ status: 'STARTING', service_status: 'UNAVAILABLE' })
    await rig.cancel('ls-1')
    await rig.clock.advance(2 * MINUTE_MS)
    expect((await session()).pipeline?.steps.stop).toMatchObject({
      status: 'blocked',
      error: reason('worker_not_serving', { worker: (await rig.worker()).name }).message,
    })
    await rig.changeWorker({ status: 'RUNNING', service_status: 'AVAILABLE' })
    await rig.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: null })
    expect((await session()).pipeline?.steps.stop).toMatchObject({ status: 'completed', error: null })
    expect(await rig.labsThere()).toEqual([])
  })

  it('is reported as ERROR and keeps its capacity until it is seen stopped', async () => {
    withLabs({ stop: async () => Promise.reject(refused('not today')) })
    await rig.book('ls-1')
    await rig.clock.advance(45 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: 'stop: PUT: HTTP400: not today' })
    expect(await rig.records()).toMatchObject([{ status: 'ERROR', last_error: 'stop: PUT: HTTP400: not today' }])
    expect(Object.keys((await rig.worker()).reservations)).toEqual(['ls-1'])
    await rig.labs.stop(rig.login(), await theLab(), never)
    await rig.clock.advance(35 * MINUTE_MS)
    expect((await rig.worker()).reservations).toEqual({})
  })
})

describe('a CML with random failures and lost logins', () => {
  it('delays a session, and fails none', async () => {
    aController(rig, 'one')
    rig.faults({ fail_one_in: 10, session_lifetime_factor: 0.005, logins_per_minute: 30 })
    await rig.book('ls-1')
    await rig.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null })
    await rig.clock.advance(40 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    rig.faults({ fail_one_in: 0 })
    expect(await rig.labsThere()).toEqual([])
    expect(await rig.worker()).toMatchObject({ reservations: {}, ports: {} })
  })
})

describe('a CML that does not answer', () => {
  it('delays no other session', async () => {
    const mine = { id: 'w-slow', ec2_instance_id: 'i-slow', https_endpoint: 'https://slow.example' }
    const slow = { ...(await rig.worker()), ...mine }
    await rig.plane.put('workers', slow)
    const hanging = new Promise<never>(() => undefined)
    withLabs({
      list: (login, signal) => (login.url === slow.https_endpoint ? hanging : rig.labs.list(login, signal)),
    })
    for (let n = 1; n <= 30; n += 1) await rig.book(`ls-slow-${n}`, 0, slow.id)
    await rig.clock.advance(2 * MINUTE_MS)
    await rig.book('ls-1')
    await rig.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('RUNNING')
    expect((await session()).worker_id).toBe(WORKER)
    expect((await session('ls-slow-1')).status).toBe('INSTANTIATING')
  })
})

import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { SessionStatus } from '@lcm/domain/session/lablet-session'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabWorld, labWorld, MINUTE_MS, never, WORKER } from './testing/lab-world.ts'

let world: LabWorld

const session = (id = 'ls-1') => world.session(id)
const enteredAt = async (status: SessionStatus, id = 'ls-1') =>
  toMs((await session(id)).state_history.find(({ to }) => to === status)?.at ?? (await session(id)).created_at)
const theLab = async () => (await world.labsThere())[0]?.lab_id ?? ''
const refused = (message: string) => new CloudError('invalid', { code: 'HTTP400', action: 'PUT', message })
const withLabs = (more: Partial<CmlLabs>) => aController(world, 'one', { labs: { ...world.labs, ...more } })

const retry = () => world.plane.others().call('retrySession', { params: { id: 'ls-1' }, body: {} })

beforeEach(async () => {
  world = await labWorld()
})

describe('when things happen', () => {
  it('a lab is begun ten minutes before its slot where CML serves, used from its start and stopped at its end', async () => {
    aController(world, 'one')
    const { timeslot } = await world.book('ls-1', 25 * MINUTE_MS)
    await world.clock.advance(70 * MINUTE_MS)
    expect((await session()).status).toBe('ARCHIVED')
    expect((await enteredAt('INSTANTIATING')) - toMs(timeslot.start)).toBe(-10 * MINUTE_MS)
    expect(await enteredAt('RUNNING')).toBe(toMs(timeslot.start))
    expect(await enteredAt('STOPPING')).toBe(toMs(timeslot.end))
  })

  it('a worker that does not serve yet is waited for', async () => {
    await world.changeWorker({ service_status: 'STARTING' })
    aController(world, 'one')
    await world.book('ls-1')
    await world.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'SCHEDULED', last_error: null })
    await world.changeWorker({ service_status: 'AVAILABLE' })
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('RUNNING')
  })

  it('a session that is at rest costs no write', async () => {
    aController(world, 'one')
    await world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    const before = (await session()).version
    await world.clock.advance(15 * MINUTE_MS)
    expect([(await session()).status, (await session()).version]).toEqual(['RUNNING', before])
  })

  it('one that is canceled before it had a lab ends at once and gives its room back', async () => {
    aController(world, 'one')
    await world.book('ls-1', 30 * MINUTE_MS)
    await world.clock.advance(MINUTE_MS)
    await world.cancel('ls-1')
    await world.clock.advance(MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await world.worker()).reservations).toEqual({})
  })
})

describe('what others do to a lab', () => {
  beforeEach(async () => {
    aController(world, 'one')
    await world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
  })

  it('is told when they stop it, and when it runs again', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).conditions).toMatchObject([
      { type: 'LabStopped', status: true, reason: { code: 'lab_stopped_on_cml', params: { state: 'STOPPED' } } },
    ])
    expect((await session()).status).toBe('RUNNING')
    await world.labs.start(world.login(), await theLab(), never)
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: false }])
  })

  it('is undone when somebody asks for it: the lab is started as it was, and only once', async () => {
    const lab = await theLab()
    await world.labs.stop(world.login(), lab, never)
    await world.clock.advance(2 * MINUTE_MS)
    const access = (await session()).access
    await retry()
    await world.clock.advance(3 * MINUTE_MS)
    expect(await world.labs.get(world.login(), lab, never)).toMatchObject({ state: 'STARTED' })
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null, access })
    expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: false }])
    expect(await world.records()).toMatchObject([{ status: 'BOOTED' }])
    const { version } = await session()
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).version).toBe(version)
    await world.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await world.labsThere()).toEqual([])
  })

  it('that can not be undone does not end the session', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    world.faults({ never_boot: ['R2'] })
    await world.clock.advance(2 * MINUTE_MS)
    await retry()
    await world.clock.advance(10 * MINUTE_MS)
    expect(await session()).toMatchObject({
      status: 'RUNNING',
      pipeline: { steps: { converged: { status: 'failed' } } },
    })
    await world.clock.advance(30 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await world.worker()).toMatchObject({ reservations: {}, ports: {} })
  })

  it('is left as it is when its session ends before it was undone', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(2 * MINUTE_MS)
    await retry()
    await world.cancel('ls-1')
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect(await world.labsThere()).toEqual([])
  })

  it('ends the session when they remove it', async () => {
    const lab = await theLab()
    for (const act of ['stop', 'wipe', 'delete'] as const) {
      await world.labs[act](world.login(), lab, never)
      await world.clock.advance(act === 'delete' ? 0 : 20_000)
    }
    await world.clock.advance(5 * MINUTE_MS)
    const last_error = `lab_lost: ${reason('lab_removed').message}`
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error })
    expect(await world.worker()).toMatchObject({ reservations: {}, ports: {} })
  })
})

describe('ports', () => {
  it('that labs of others use are left to them', async () => {
    const tags = { lab: { version: '0.3.0' }, links: [] }
    const node = { id: 'n0', label: 'X', node_definition: 'alpine', x: 0, y: 0, tags: ['serial:2000', 'pat:2002:80'] }
    await world.labs.import(
      world.login(),
      { title: 'theirs', topology: JSON.stringify({ ...tags, nodes: [node] }) },
      never,
    )
    aController(world, 'one')
    await world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    expect((await session()).access.map(({ port }) => port)).toEqual([2001, 2003])
    const ours = (await world.labsThere()).find(({ title }) => title === 'Two routers ls-1')
    const nodes = await world.labs.nodes(world.login(), ours?.lab_id ?? '', never)
    expect(nodes.map(each => each.tags)).toEqual([['core', 'serial:2001'], ['serial:2003']])
    await world.clock.advance(40 * MINUTE_MS)
    expect((await world.labsThere()).map(({ title }) => title)).toEqual(['theirs'])
  })
})

describe('a lab that is used again', () => {
  const isOver = async (id: string) => (await session(id)).status === 'ARCHIVED'

  it('stays wiped after its session, and the next one has the same lab and the same ports', async () => {
    aController(world, 'one')
    await world.book('ls-1')
    await world.define({ lab_reuse: true })
    await world.clock.advance(10 * MINUTE_MS)
    const { access } = await session('ls-1')
    expect(access).toHaveLength(2)
    await world.clock.advance(40 * MINUTE_MS)
    expect(await isOver('ls-1')).toBe(true)
    const lab = await theLab()
    expect(await world.records()).toMatchObject([{ lab_id: lab, status: 'WIPED', session_id: null }])
    await world.book('ls-2')
    await world.clock.advance(10 * MINUTE_MS)
    expect((await session('ls-2')).status).toBe('RUNNING')
    expect((await session('ls-2')).access).toEqual(access)
    expect((await world.labsThere()).map(({ lab_id }) => lab_id)).toEqual([lab])
  })

  it('is made anew where its tags lead to other ports', async () => {
    aController(world, 'one')
    await world.book('ls-1')
    await world.define({ lab_reuse: true })
    await world.clock.advance(50 * MINUTE_MS)
    const lab = await theLab()
    await world.changeWorker({ ports: { 'lr-77': { other: 2000 } } })
    await world.book('ls-2')
    await world.clock.advance(10 * MINUTE_MS)
    expect((await session('ls-2')).access.map(({ port }) => port)).toEqual([2001, 2002])
    expect((await world.labsThere()).map(({ lab_id, title }) => [lab_id === lab, title])).toEqual([
      [false, 'Two routers ls-2'],
    ])
  })
})

describe('a lab that does not come up', () => {
  it('names the nodes that never boot, is tried three times, and ends with the error and without a lab', async () => {
    world.faults({ never_boot: ['R2'] })
    await world.book('ls-1')
    aController(world, 'one')
    await world.clock.advance(MINUTE_MS)
    expect((await session()).pipeline?.steps.converged).toMatchObject({
      status: 'running',
      output: { booted: 1, nodes: 2, waits_for: 'R2 (STARTED)' },
    })
    await world.clock.advance(20 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await session()).last_error).toMatch(/^converged: .*R2 \(STARTED\)/)
    expect(await world.labsThere()).toEqual([])
    expect((await world.worker()).reservations).toEqual({})
  })

  it('ends with what CML says of a topology that it refuses', async () => {
    withLabs({ import: async () => Promise.reject(refused('nodes: wrong')) })
    await world.book('ls-1')
    await world.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: 'tags: PUT: HTTP400: nodes: wrong' })
    expect((await world.worker()).reservations).toEqual({})
  })

  it('ends by naming the node definition that its CML does not know', async () => {
    aController(world, 'one')
    await world.book('ls-1')
    const nodes = [{ id: 'n0', label: 'R1', node_definition: 'alien-router', x: 0, y: 0 }]
    await world.define({ topology: JSON.stringify({ lab: { version: '0.3.0' }, nodes, links: [] }), port_template: [] })
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('TERMINATED')
    expect((await session()).last_error).toMatch(/^tags: .*Node definition not found: alien-router/)
    expect((await world.worker()).reservations).toEqual({})
  })

  it('says for whom it waits while its worker does not serve, and goes on without having lost a try', async () => {
    withLabs({ isConverged: async () => false })
    await world.book('ls-1')
    await world.clock.advance(MINUTE_MS)
    await world.changeWorker({ service_status: 'UNAVAILABLE' })
    await world.clock.advance(MINUTE_MS)
    expect((await session()).pipeline?.steps.converged).toMatchObject({
      status: 'blocked',
      attempts: 0,
      error: reason('worker_not_serving', { worker: (await world.worker()).name }).message,
    })
    const { version } = await session()
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).version).toBe(version)
    await world.changeWorker({ service_status: 'AVAILABLE' })
    await world.clock.advance(8_000)
    expect((await session()).pipeline).toMatchObject({
      attempt: 1,
      steps: { converged: { status: 'running', attempts: 1, error: null } },
    })
  })

  it('goes on where it was when CML was away for a while', async () => {
    let isAway = false
    const gone = new CloudError('transient', { code: 'HTTP502', action: 'GET', message: 'bad gateway' })
    withLabs({ nodes: (...args) => (isAway ? Promise.reject(gone) : world.labs.nodes(...args)) })
    await world.book('ls-1')
    isAway = true
    await world.clock.advance(10 * MINUTE_MS)
    expect((await session()).status).toBe('INSTANTIATING')
    isAway = false
    await world.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null })
    expect((await session()).pipeline?.attempt).toBe(1)
  })
})

describe('a lab that can not be taken down', () => {
  it('says for whom it waits while its worker does not serve', async () => {
    aController(world, 'one')
    await world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    await world.changeWorker({ status: 'STARTING', service_status: 'UNAVAILABLE' })
    await world.cancel('ls-1')
    await world.clock.advance(2 * MINUTE_MS)
    expect((await session()).pipeline?.steps.stop).toMatchObject({
      status: 'blocked',
      error: reason('worker_not_serving', { worker: (await world.worker()).name }).message,
    })
    await world.changeWorker({ status: 'RUNNING', service_status: 'AVAILABLE' })
    await world.clock.advance(5 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: null })
    expect((await session()).pipeline?.steps.stop).toMatchObject({ status: 'completed', error: null })
    expect(await world.labsThere()).toEqual([])
  })

  it('is said to be in error, and keeps its room until it is seen stopped', async () => {
    withLabs({ stop: async () => Promise.reject(refused('not today')) })
    await world.book('ls-1')
    await world.clock.advance(45 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'TERMINATED', last_error: 'stop: PUT: HTTP400: not today' })
    expect(await world.records()).toMatchObject([{ status: 'ERROR', last_error: 'stop: PUT: HTTP400: not today' }])
    expect(Object.keys((await world.worker()).reservations)).toEqual(['ls-1'])
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(35 * MINUTE_MS)
    expect((await world.worker()).reservations).toEqual({})
  })
})

describe('a CML that fails now and then, and forgets who we are', () => {
  it('delays a session, and harms none', async () => {
    aController(world, 'one')
    world.faults({ fail_one_in: 10, session_lifetime_factor: 0.005, logins_per_minute: 30 })
    await world.book('ls-1')
    await world.clock.advance(20 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null })
    await world.clock.advance(40 * MINUTE_MS)
    expect(await session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    world.faults({ fail_one_in: 0 })
    expect(await world.labsThere()).toEqual([])
    expect(await world.worker()).toMatchObject({ reservations: {}, ports: {} })
  })
})

describe('a CML that does not answer', () => {
  it('keeps no other session waiting', async () => {
    const mine = { id: 'w-slow', ec2_instance_id: 'i-slow', https_endpoint: 'https://slow.example' }
    const slow = { ...(await world.worker()), ...mine }
    await world.plane.put('workers', slow)
    const hanging = new Promise<never>(() => undefined)
    withLabs({
      list: (login, signal) => (login.url === slow.https_endpoint ? hanging : world.labs.list(login, signal)),
    })
    for (let n = 1; n <= 30; n += 1) await world.book(`ls-slow-${n}`, 0, slow.id)
    await world.clock.advance(2 * MINUTE_MS)
    await world.book('ls-1')
    await world.clock.advance(5 * MINUTE_MS)
    expect((await session()).status).toBe('RUNNING')
    expect((await session()).worker_id).toBe(WORKER)
    expect((await session('ls-slow-1')).status).toBe('INSTANTIATING')
  })
})

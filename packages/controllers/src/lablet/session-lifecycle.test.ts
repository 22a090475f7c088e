import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { SessionStatus } from '@lcm/domain/session/lablet-session'
import { retryOf } from '@lcm/domain/session/retry'
import { beforeEach, describe, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { aDefinition, type LabWorld, labWorld, MINUTE_MS, never, WORKER } from './testing/lab-world.ts'

let world: LabWorld

const session = (id = 'ls-1') => world.api.session(id)
const enteredAt = (status: SessionStatus, id = 'ls-1') =>
  toMs(session(id).state_history.find(({ to }) => to === status)?.at ?? session(id).created_at)
const define = (more: Parameters<typeof aDefinition>[1]) =>
  world.api.definitions.set('ld-1', aDefinition(session().created_at, more))
const theLab = async () => (await world.labsThere())[0]?.lab_id ?? ''
const refused = (message: string) => new CloudError('invalid', { code: 'HTTP400', action: 'PUT', message })
const withLabs = (more: Partial<CmlLabs>) => aController(world, 'one', { labs: { ...world.labs, ...more } })

/** As the API would. */
const retry = () => {
  const wanted = retryOf(session(), toInstant(world.clock.now()))
  if (wanted.kind !== 'try') throw new Error(JSON.stringify(wanted))
  world.change('ls-1', wanted.changes)
}

beforeEach(async () => {
  world = await labWorld()
})

describe('when things happen', () => {
  it('a lab is begun ten minutes before its slot where CML serves, used from its start and stopped at its end', async () => {
    aController(world, 'one')
    const { timeslot } = world.book('ls-1', 25 * MINUTE_MS)
    await world.clock.advance(70 * MINUTE_MS)
    expect(session().status).toBe('ARCHIVED')
    expect(enteredAt('INSTANTIATING') - toMs(timeslot.start)).toBe(-10 * MINUTE_MS)
    expect(enteredAt('RUNNING')).toBe(toMs(timeslot.start))
    expect(enteredAt('STOPPING')).toBe(toMs(timeslot.end))
  })

  it('a worker that does not serve yet is waited for', async () => {
    world.changeWorker({ service_status: 'STARTING' })
    aController(world, 'one')
    world.book('ls-1')
    await world.clock.advance(5 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'SCHEDULED', last_error: null })
    world.changeWorker({ service_status: 'AVAILABLE' })
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().status).toBe('RUNNING')
  })

  it('a session that is at rest costs no write', async () => {
    aController(world, 'one')
    world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    const before = session().version
    await world.clock.advance(15 * MINUTE_MS)
    expect([session().status, session().version]).toEqual(['RUNNING', before])
  })

  it('one that is canceled before it had a lab ends at once and gives its room back', async () => {
    aController(world, 'one')
    world.book('ls-1', 30 * MINUTE_MS)
    await world.clock.advance(MINUTE_MS)
    world.change('ls-1', { desired_status: 'TERMINATED' })
    await world.clock.advance(MINUTE_MS)
    expect(session().status).toBe('TERMINATED')
    expect(world.worker().reservations).toEqual({})
  })
})

describe('what others do to a lab', () => {
  beforeEach(async () => {
    aController(world, 'one')
    world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
  })

  it('is told when they stop it, and when it runs again', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().conditions).toMatchObject([{ type: 'LabStopped', status: true, reason: 'STOPPED' }])
    expect(session().status).toBe('RUNNING')
    await world.labs.start(world.login(), await theLab(), never)
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().conditions).toMatchObject([{ type: 'LabStopped', status: false }])
  })

  it('is undone when somebody asks for it: the lab is started as it was, and only once', async () => {
    const lab = await theLab()
    await world.labs.stop(world.login(), lab, never)
    await world.clock.advance(2 * MINUTE_MS)
    const access = session().access
    retry()
    await world.clock.advance(3 * MINUTE_MS)
    expect(await world.labs.get(world.login(), lab, never)).toMatchObject({ state: 'STARTED' })
    expect(session()).toMatchObject({ status: 'RUNNING', last_error: null, access })
    expect(session().conditions).toMatchObject([{ type: 'LabStopped', status: false }])
    expect([...world.api.labs.values()]).toMatchObject([{ status: 'BOOTED' }])
    const { version } = session()
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().version).toBe(version)
    await world.clock.advance(20 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(await world.labsThere()).toEqual([])
  })

  it('that can not be undone does not end the session', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    world.faults({ never_boot: ['R2'] })
    await world.clock.advance(2 * MINUTE_MS)
    retry()
    await world.clock.advance(10 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'RUNNING', pipeline: { steps: { converged: { status: 'failed' } } } })
    await world.clock.advance(30 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    expect(world.worker()).toMatchObject({ reservations: {}, ports: {} })
  })

  it('is left as it is when its session ends before it was undone', async () => {
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(2 * MINUTE_MS)
    retry()
    world.change('ls-1', { desired_status: 'TERMINATED' })
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().status).toBe('TERMINATED')
    expect(await world.labsThere()).toEqual([])
  })

  it('ends the session when they remove it', async () => {
    const lab = await theLab()
    for (const act of ['stop', 'wipe', 'delete'] as const) {
      await world.labs[act](world.login(), lab, never)
      await world.clock.advance(act === 'delete' ? 0 : 20_000)
    }
    await world.clock.advance(5 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'TERMINATED', last_error: 'lab_lost: somebody removed its lab' })
    expect(world.worker()).toMatchObject({ reservations: {}, ports: {} })
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
    world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    expect(session().access.map(({ port }) => port)).toEqual([2001, 2003])
    const ours = (await world.labsThere()).find(({ title }) => title === 'Two routers ls-1')
    const nodes = await world.labs.nodes(world.login(), ours?.lab_id ?? '', never)
    expect(nodes.map(each => each.tags)).toEqual([['core', 'serial:2001'], ['serial:2003']])
    await world.clock.advance(40 * MINUTE_MS)
    expect((await world.labsThere()).map(({ title }) => title)).toEqual(['theirs'])
  })
})

describe('a lab that is used again', () => {
  const isOver = (id: string) => session(id).status === 'ARCHIVED'

  it('stays wiped after its session, and the next one has the same lab and the same ports', async () => {
    aController(world, 'one')
    world.book('ls-1')
    define({ lab_reuse: true })
    await world.clock.advance(50 * MINUTE_MS)
    expect(isOver('ls-1')).toBe(true)
    const lab = await theLab()
    expect([...world.api.labs.values()]).toMatchObject([{ lab_id: lab, status: 'WIPED', session_id: null }])
    world.book('ls-2')
    await world.clock.advance(10 * MINUTE_MS)
    expect(session('ls-2').status).toBe('RUNNING')
    expect(session('ls-2').access).toEqual(session('ls-1').access)
    expect((await world.labsThere()).map(({ lab_id }) => lab_id)).toEqual([lab])
  })

  it('is made anew where its tags lead to other ports', async () => {
    aController(world, 'one')
    world.book('ls-1')
    define({ lab_reuse: true })
    await world.clock.advance(50 * MINUTE_MS)
    const lab = await theLab()
    world.changeWorker({ ports: { 'lr-77': { other: 2000 } } })
    world.book('ls-2')
    await world.clock.advance(10 * MINUTE_MS)
    expect(session('ls-2').access.map(({ port }) => port)).toEqual([2001, 2002])
    expect((await world.labsThere()).map(({ lab_id, title }) => [lab_id === lab, title])).toEqual([
      [false, 'Two routers ls-2'],
    ])
  })
})

describe('a lab that does not come up', () => {
  it('names the nodes that never boot, is tried three times, and ends with the error and without a lab', async () => {
    world.faults({ never_boot: ['R2'] })
    world.book('ls-1')
    aController(world, 'one')
    await world.clock.advance(MINUTE_MS)
    expect(session().pipeline?.steps.converged).toMatchObject({
      status: 'running',
      output: { booted: 1, nodes: 2, waits_for: 'R2 (STARTED)' },
    })
    await world.clock.advance(20 * MINUTE_MS)
    expect(session().status).toBe('TERMINATED')
    expect(session().last_error).toMatch(/^converged: .*R2 \(STARTED\)/)
    expect(await world.labsThere()).toEqual([])
    expect(world.worker().reservations).toEqual({})
  })

  it('ends with what CML says of a topology that it refuses', async () => {
    withLabs({ import: async () => Promise.reject(refused('nodes: wrong')) })
    world.book('ls-1')
    await world.clock.advance(20 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'TERMINATED', last_error: 'tags: PUT: HTTP400: nodes: wrong' })
    expect(world.worker().reservations).toEqual({})
  })

  it('ends by naming the node definition that its CML does not know', async () => {
    aController(world, 'one')
    world.book('ls-1')
    const nodes = [{ id: 'n0', label: 'R1', node_definition: 'alien-router', x: 0, y: 0 }]
    define({ topology: JSON.stringify({ lab: { version: '0.3.0' }, nodes, links: [] }), port_template: [] })
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().status).toBe('TERMINATED')
    expect(session().last_error).toMatch(/^tags: .*Node definition not found: alien-router/)
    expect(world.worker().reservations).toEqual({})
  })

  it('says for whom it waits while its worker does not serve, and goes on without having lost a try', async () => {
    withLabs({ isConverged: async () => false })
    world.book('ls-1')
    await world.clock.advance(MINUTE_MS)
    world.changeWorker({ service_status: 'UNAVAILABLE' })
    await world.clock.advance(MINUTE_MS)
    expect(session().pipeline?.steps.converged).toMatchObject({
      status: 'blocked',
      attempts: 0,
      error: `${world.worker().name} does not serve`,
    })
    const { version } = session()
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().version).toBe(version)
    world.changeWorker({ service_status: 'AVAILABLE' })
    await world.clock.advance(8_000)
    expect(session().pipeline).toMatchObject({
      attempt: 1,
      steps: { converged: { status: 'running', attempts: 1, error: null } },
    })
  })

  it('goes on where it was when CML was away for a while', async () => {
    let isAway = false
    const gone = new CloudError('transient', { code: 'HTTP502', action: 'GET', message: 'bad gateway' })
    withLabs({ nodes: (...args) => (isAway ? Promise.reject(gone) : world.labs.nodes(...args)) })
    world.book('ls-1')
    isAway = true
    await world.clock.advance(10 * MINUTE_MS)
    expect(session().status).toBe('INSTANTIATING')
    isAway = false
    await world.clock.advance(5 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'RUNNING', last_error: null })
    expect(session().pipeline?.attempt).toBe(1)
  })
})

describe('a lab that can not be taken down', () => {
  it('says for whom it waits while its worker does not serve', async () => {
    aController(world, 'one')
    world.book('ls-1')
    await world.clock.advance(10 * MINUTE_MS)
    world.changeWorker({ status: 'STARTING', service_status: 'UNAVAILABLE' })
    world.change('ls-1', { desired_status: 'TERMINATED' })
    await world.clock.advance(2 * MINUTE_MS)
    expect(session().pipeline?.steps.stop).toMatchObject({
      status: 'blocked',
      error: `${world.worker().name} does not serve`,
    })
    world.changeWorker({ status: 'RUNNING', service_status: 'AVAILABLE' })
    await world.clock.advance(5 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'TERMINATED', last_error: null })
    expect(session().pipeline?.steps.stop).toMatchObject({ status: 'completed', error: null })
    expect(await world.labsThere()).toEqual([])
  })

  it('is said to be in error, and keeps its room until it is seen stopped', async () => {
    withLabs({ stop: async () => Promise.reject(refused('not today')) })
    world.book('ls-1')
    await world.clock.advance(45 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'TERMINATED', last_error: 'stop: PUT: HTTP400: not today' })
    expect([...world.api.labs.values()]).toMatchObject([
      { status: 'ERROR', last_error: 'stop: PUT: HTTP400: not today' },
    ])
    expect(Object.keys(world.worker().reservations)).toEqual(['ls-1'])
    await world.labs.stop(world.login(), await theLab(), never)
    await world.clock.advance(35 * MINUTE_MS)
    expect(world.worker().reservations).toEqual({})
  })
})

describe('a CML that fails now and then, and forgets who we are', () => {
  it('delays a session, and harms none', async () => {
    aController(world, 'one')
    world.faults({ fail_one_in: 10, session_lifetime_factor: 0.005, logins_per_minute: 30 })
    world.book('ls-1')
    await world.clock.advance(20 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'RUNNING', last_error: null })
    await world.clock.advance(40 * MINUTE_MS)
    expect(session()).toMatchObject({ status: 'ARCHIVED', last_error: null })
    world.faults({ fail_one_in: 0 })
    expect(await world.labsThere()).toEqual([])
    expect(world.worker()).toMatchObject({ reservations: {}, ports: {} })
  })
})

describe('a CML that does not answer', () => {
  it('keeps no other session waiting', async () => {
    const slow = { ...world.worker(), id: 'w-slow', https_endpoint: 'https://slow.example' }
    world.api.workers.set(slow.id, slow)
    const hanging = new Promise<never>(() => undefined)
    withLabs({
      list: (login, signal) => (login.url === slow.https_endpoint ? hanging : world.labs.list(login, signal)),
    })
    for (let n = 1; n <= 30; n += 1) {
      world.book(`ls-slow-${n}`)
      world.change(`ls-slow-${n}`, { worker_id: slow.id })
    }
    await world.clock.advance(2 * MINUTE_MS)
    world.book('ls-1')
    await world.clock.advance(5 * MINUTE_MS)
    expect(session().status).toBe('RUNNING')
    expect(session().worker_id).toBe(WORKER)
    expect(session('ls-slow-1').status).toBe('INSTANTIATING')
  })
})

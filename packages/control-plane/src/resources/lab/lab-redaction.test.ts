import type { Role } from '@lcm/domain/actor'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { reason, textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { narrowWorker } from '../../narrow-view.ts'
import { RESOURCES } from '../../resources.ts'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
let workerId: string
let sessionId: string
let labId: string

beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
  sessionId = (await course.placed(workerId, 'INSTANTIATING')).id
  labId = (await course.bind(sessionId)).json.id
  await course.ports(labId)
})

const PORT = 'r1_serial'
/** A refusal repeats the request, which the caller knows. */
const shown = ({ status, body }: { status: number; body: unknown }) => (status === 200 ? String(body) : '')
const seenBy = async (as: Role, path: string) => shown(await course.send('GET', path, { as }))
const serviceSees = async (path: string) =>
  shown(await course.send('GET', path, { headers: course.asService('lablet-controller') }))

async function edited(change: (lab: LabRecord) => Partial<LabRecord>): Promise<void> {
  const labs = course.store.collection(RESOURCES.labs)
  const lab = await labs.get(labId)
  if (lab === null) throw new Error(`there is no ${labId}`)
  await labs.replace({ ...lab, ...change(lab), version: lab.version + 1 })
}

/** Plan and decisions of a controller about the worker and the lab, with texts that name the session. */
async function speakOfIt(): Promise<void> {
  const named = { action: 'wait', because: textReason(`waits for ${sessionId}`) }
  const headers = { ...course.asService('lablet-controller'), 'lcm-epoch': '1' }
  const about = [`worker:${workerId}`, `lab_record:${labId}`, `session:${sessionId}`]
  const at = new Date(course.clock.now()).toISOString()
  const decisions = about.map((resource, n) => ({ id: `decision-${n}`, at, resource, ...named }))
  const recorded = await course.send('POST', 'decisions', { headers, json: { epoch: 1, decisions } })
  if (recorded.status >= 300) throw new Error(String(recorded.body))
  const json = {
    is_leader: true,
    epoch: 1,
    since: null,
    software: '0',
    queue: { due: 0, active: 0 },
    retries: 0,
    watch: { healthy: true, age_seconds: 0 },
    last_sweep: null,
    plan: about.map(resource => ({ resource, ...named, due_at: null })),
  }
  await course.send('PUT', 'services/lablet-controller/instances/one', { headers, json })
  await course.edit(workerId, worker => ({
    wanted_by: [sessionId],
    desired_reason: `for ${sessionId}`,
    name: worker.name,
  }))
  await course.moveTo(workerId, 'STOPPING')
}

/** An actor that knows worker and port can reach the console of another owner's router. */
describe('D-38: the session and ports of another owner’s lab are never revealed', () => {
  const ROUTES = {
    'the list of labs': () => 'lab-records',
    'the labs of a session': () => `lab-records?session_id=${sessionId}`,
    'a lab': () => `lab-records/${labId}`,
    'a lab’s topology': () => `lab-records/${labId}/topology`,
    'the list of workers': () => 'workers',
    'a worker': () => `workers/${workerId}`,
    'what happened to a worker': () => `workers/${workerId}/history`,
    'what was decided about a worker': () => `workers/${workerId}/decisions`,
    'what was decided about a session': () => `lablet-sessions/${sessionId}/decisions`,
    'the plan': () => 'fleet/plan',
    'the list of sessions': () => 'lablet-sessions',
    'a session': () => `lablet-sessions/${sessionId}`,
  } as const
  const WITH_PORTS = ['the list of labs', 'the labs of a session', 'a lab', 'the list of workers', 'a worker']
  const WITHOUT_NAMES = ['a lab’s topology', 'what happened to a worker']

  it.each(Object.entries(ROUTES))('in %s', async (name, path) => {
    await speakOfIt()
    // Its owner is `user`; an author is as much a stranger to it as any other learner.
    const stranger = await seenBy('author', path())
    expect(stranger).not.toContain(sessionId)
    expect(stranger).not.toContain(PORT)
    const others = [
      await seenBy('user', path()),
      await seenBy('operator', path()),
      await seenBy('admin', path()),
      await serviceSees(path()),
    ]
    for (const [index, text] of others.entries()) {
      // The first is a user, who reads decisions about a worker without their reasons.
      const isNarrow = index === 0 && name === 'what was decided about a worker'
      if (!WITHOUT_NAMES.includes(name) && !isNarrow) expect(text).toContain(sessionId)
      if (WITH_PORTS.includes(name)) expect(text).toContain(PORT)
    }
    if (name === 'a lab’s topology') expect(others.every(text => text.includes('two routers'))).toBe(true)
  })

  it.each(['lab-records/', 'lab-records?session_id='])('another actor gets not found: %s', async path => {
    const isOne = path.endsWith('/')
    const answer = await course.send('GET', `${path}${isOne ? labId : sessionId}`, { as: 'author' })
    expect(isOne ? answer.status : answer.json.items).toEqual(isOne ? 404 : [])
  })
})

describe('the events', () => {
  it.each([
    ['user', true],
    ['operator', true],
    ['admin', true],
    ['lablet-controller', true],
    ['author', false],
  ])('are filtered by access: %s', async (token, isAllowed) => {
    const stop = course.run()
    const stream = await course.follow('', token)
    await speakOfIt()
    await course.reportLab(labId, { status: 'STARTING' })
    await course.clock.advance(3_000)
    const events = await stream.seen()
    const types = events.map(({ type }) => type)
    const text = stream.texts.join('')
    expect([text.includes(sessionId), text.includes(PORT)]).toEqual([isAllowed, isAllowed])
    expect(types).toContain('worker.updated')
    expect(types.includes('lab.updated')).toBe(isAllowed)
    const decided = events.flatMap(event =>
      event.type === 'decision' && event.data.action === 'wait' ? [event.data.resource] : [],
    )
    const [worker, ...others] = [`worker:${workerId}`, `lab_record:${labId}`, `session:${sessionId}`]
    expect(decided.toSorted()).toEqual([...(isAllowed ? others : []), worker])
    await stream.stop()
    await stop()
  })
})

describe('a lab without an owner that is bound', () => {
  const run = { started_at: '2026-01-01T00:00:00.000Z', stopped_at: null, session_id: null, reason: textReason('') }
  const unbind = () => edited(() => ({ session_id: null, runs: [run] }))
  const bindAgain = () => edited(() => ({ session_id: sessionId }))

  it.each([
    ['author', 'lab.deleted'],
    ['user', 'lab.updated'],
    ['admin', 'lab.updated'],
  ])('sends %s the event %s', async (token, type) => {
    await unbind()
    const stop = course.run()
    const stream = await course.follow('types=lab', token)
    await bindAgain()
    const { version } = await course.lab(labId)
    await course.clock.advance(3_000)
    const changes = (await stream.seen()).filter(event => event.type.startsWith('lab.'))
    expect(changes).toMatchObject([{ type, id: labId, version }])
    await stream.stop()
    await stop()
  })

  it('is shown to other actors only when it has no owner', async () => {
    const stop = course.run()
    const stream = await course.follow('types=lab', 'author')
    await course.reportLab(labId, { status: 'STARTING' })
    await course.clock.advance(3_000)
    await unbind()
    await course.clock.advance(3_000)
    const types = (await stream.seen()).map(({ type }) => type).filter(type => type.startsWith('lab.'))
    expect(types).toEqual(['lab.updated'])
    await stream.stop()
    await stop()
  })
})

describe('the redacted view', () => {
  it('a worker shows its totals, and nothing of other sessions', async () => {
    const [mine, theirs] = [await course.get(workerId), JSON.parse(await seenBy('author', `workers/${workerId}`))]
    expect(theirs).toEqual({ ...narrowWorker(mine), reservations: {}, ports: {}, wanted_by: [] })
    expect(theirs.capacity.reserved.nodes).toBeGreaterThan(0)
  })

  it('an owner sees its own session on a shared worker', async () => {
    const { id } = await course.book({}, 'author')
    await course.assign(id, workerId)
    for (const path of [`workers/${workerId}`, 'workers']) {
      const answer = JSON.parse(await seenBy('author', path))
      const { reservations, ports } = answer.items?.[0] ?? answer
      expect([Object.keys(reservations), ports]).toEqual([[id], {}])
    }
  })

  it('a lab without an owner is shown, without ports and without its earlier owners', async () => {
    await edited(lab => ({
      session_id: null,
      title: `two routers ${sessionId}`,
      last_error: 'no answer from 10.0.0.7',
      runs: [{ started_at: lab.created_at, stopped_at: null, session_id: sessionId, reason: textReason('') }],
    }))
    const lab = JSON.parse(await seenBy('author', `lab-records/${labId}`))
    expect(lab).toMatchObject({ ports: {}, last_error: null, title: 'two routers ls-…', runs: [{ session_id: null }] })
    expect(JSON.parse(await seenBy('user', `lab-records/${labId}`)).runs).toMatchObject([{ session_id: sessionId }])
  })

  it('a lab without an owner is shown without the errors of what was tried on it', async () => {
    const [error, at] = ['no answer from 10.0.0.7', new Date(course.clock.now()).toISOString()]
    const failed = reason('lab_action_failed', { action: 'start', attempt: 1, attempts_max: 3, error })
    const runs = [null, sessionId].map(session_id => ({ started_at: at, stopped_at: at, session_id, reason: failed }))
    const pending_action = { action: 'stop', by: 'eve', at, attempts: 1, error } as const
    await edited(() => ({ session_id: null, pending_action, runs }))
    for (const as of ['user', 'author'] as const) {
      const lab = JSON.parse(await seenBy(as, `lab-records/${labId}`))
      expect(lab).toMatchObject({ pending_action: { action: 'stop', error: null } })
      expect(lab.runs[0].reason.message).toBe('attempt 1 of 3 failed: …')
      expect(lab.runs[1].reason).toEqual(as === 'user' ? failed : lab.runs[0].reason)
    }
    expect(JSON.parse(await seenBy('operator', `lab-records/${labId}`))).toMatchObject({ pending_action, runs })
  })

  it('pages are full, also when entries are left out', async () => {
    await course.scan(workerId, [{ lab_id: 'a' }, { lab_id: 'b' }, { lab_id: 'c' }])
    const first = JSON.parse(await seenBy('author', 'lab-records?limit=2'))
    const second = JSON.parse(await seenBy('author', `lab-records?limit=2&cursor=${first.next_cursor}`))
    expect([first, second].map(({ items }) => items.length)).toEqual([2, 1])
    expect(second.next_cursor).toBeNull()
  })
})

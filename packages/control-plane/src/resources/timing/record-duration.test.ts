import type { ServiceName } from '@lcm/domain/actor'
import type { Timing } from '@lcm/domain/calendar/timings'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { newPipeline } from '@lcm/domain/session/pipeline'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

const MINUTE_MS = 60_000

let course: Course
beforeEach(() => {
  course = aCourse()
})

/** In minutes: each write of a document is a millisecond later than the one before. */
const timings = async (): Promise<Record<string, number[]>> => {
  const { items } = (await course.send('GET', 'timings')).json
  const minutes = (all: number[]) => all.map(ms => Math.round(ms / 1000) / 60)
  return Object.fromEntries(items.map((each: Timing) => [each.id, minutes(each.recent_ms)]))
}

/** The leader of a service reports every five seconds while the time passes. */
async function leads(service: ServiceName, ms: number, since = toInstant(course.clock.now())): Promise<Instant> {
  const beat = () =>
    course.send('PUT', `services/${service}/instances/one`, {
      headers: course.asService(service),
      json: {
        ...{ is_leader: true, epoch: 1, since, software: '1', queue: { due: 0, active: 0 }, retries: 0 },
        ...{ watch: { healthy: true, age_seconds: 0 }, last_sweep: null, plan: [] },
      },
    })
  await beat()
  for (let passed = 0; passed < ms; passed += 5_000) {
    await course.clock.advance(5_000)
    await beat()
  }
  return since
}

/** A worker that LCM stopped, and that it starts again at this moment. */
async function aStart() {
  const { id } = await course.running()
  await course.moveTo(id, 'STOPPING', 'STOPPED')
  const { version } = await course.get(id)
  const because = reason('requested_by', { by: 'ann', status: 'RUNNING', reason: '' })
  const json = { changes: { status: 'STARTING' }, decision: { action: 'announce', because } }
  await course.fenced('PATCH', `workers/${id}/status`, json, { ifMatch: version })
  return id
}
const UP = { status: 'RUNNING', service_status: 'AVAILABLE' } as const
const comesUp = async (id: string) => course.report(id, (await course.get(id)).version, UP)

describe('the boot of a machine', () => {
  it('is recorded once, and served', async () => {
    const since = await leads('worker-controller', 0)
    const id = await aStart()
    await leads('worker-controller', 9 * MINUTE_MS, since)
    const { version } = await course.get(id)
    expect((await course.report(id, version, UP)).status).toBe(200)
    expect((await course.report(id, version, UP)).status).toBe(412)
    await comesUp(id)
    expect(await timings()).toEqual({ 'boot:metal': [9] })
  })

  it('is not recorded after a silence of its controller, which would be part of it', async () => {
    const since = await leads('worker-controller', 0)
    const id = await aStart()
    await course.clock.advance(30 * MINUTE_MS)
    await leads('worker-controller', 10_000, since)
    await comesUp(id)
    expect(await timings()).toEqual({})
  })

  it('is not recorded while its controller is silent', async () => {
    await leads('worker-controller', 0)
    const id = await aStart()
    await course.clock.advance(20_000)
    await comesUp(id)
    expect(await timings()).toEqual({})
  })

  it('is not recorded by a leader that did not see its start', async () => {
    const id = await aStart()
    await course.clock.advance(1_000)
    await leads('worker-controller', 5 * MINUTE_MS)
    await comesUp(id)
    expect(await timings()).toEqual({})
  })

  it('is not lost for the worker when it cannot be recorded', async () => {
    const since = await leads('worker-controller', 0)
    const id = await aStart()
    await leads('worker-controller', MINUTE_MS, since)
    course.store.interrupt({ kind: 'timing', write: 'replace', when: 'before', run: crash })
    await comesUp(id)
    expect(await course.get(id)).toMatchObject(UP)
  })
})

/** A session whose lab starts now. */
async function aLabStart(): Promise<LabletSession> {
  const { id: workerId } = await course.serving()
  const session = await course.placed(workerId)
  await course.reportSession(session.id, { status: 'INSTANTIATING', pipeline: newPipeline('instantiate', 1) })
  return session
}

describe('labs', () => {
  it('are measured from their start to READY, and from their end until their capacity is free', async () => {
    const since = await leads('lablet-controller', 0)
    const { id } = await aLabStart()
    await leads('lablet-controller', 4 * MINUTE_MS, since)
    await course.reportSession(id, { status: 'READY' })
    await course.reportSession(id, { status: 'RUNNING' })
    await course.reportSession(id, { status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
    await leads('lablet-controller', MINUTE_MS, since)
    await course.release(id)
    await course.release(id)
    expect(await timings()).toEqual({ 'lab:bgp': [4], teardown: [1] })
  })

  it('are forgotten with their definition, and boots with their template', async () => {
    const at = toInstant(course.clock.now())
    const known = (id: string) => ({ id, version: 1, created_at: at, updated_at: at, recent_ms: [1] })
    await course.define()
    await course.running()
    const left = ['boot:metal', 'first_boot:metal', 'lab:bgp', 'teardown']
    await course.put('timings', ...[...left, 'boot:gone', 'first_boot:gone', 'lab:gone'].map(known))
    await course.tend(11 * MINUTE_MS)
    expect(Object.keys(await timings())).toEqual(left)
  })

  it('of other machines say nothing about a template with other instance types', async () => {
    const at = toInstant(course.clock.now())
    await course.running()
    const { name: _, ...metal } = METAL
    const put = async (more: object) =>
      (await course.send('PUT', 'worker-templates/metal', { json: { ...metal, ...more } })).status
    await course.put('timings', { id: 'boot:metal', version: 1, created_at: at, updated_at: at, recent_ms: [1] })
    expect(await put({ description: 'for classes' })).toBe(200)
    expect(await timings()).toHaveProperty('boot:metal')
    expect(await put({ instance_types: ['m8i.12xlarge'] })).toBe(200)
    expect(await timings()).toEqual({})
  })
})

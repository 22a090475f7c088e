import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../testing/bookable-fleet.ts'

let course: Course
beforeEach(async () => {
  course = aCourse()
  await course.define()
})

type Stream = Awaited<ReturnType<Course['follow']>>
const about = async (stream: Stream, id: string) =>
  (await stream.seen()).flatMap(event => ('id' in event && event.id === id ? [event.type] : []))

describe('events of sessions', () => {
  it('go to their owner, operators and controllers, and to no other actor', async () => {
    const tokens = ['user', 'author', 'operator', 'admin', 'lablet-controller']
    const streams = await Promise.all(tokens.map(token => course.follow('', token)))
    const { id } = await course.book({}, 'user')
    await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
    const heard = await Promise.all(streams.map(stream => about(stream, id)))
    expect(heard.map(types => types.length > 0)).toEqual([true, false, true, true, true])
    for (const stream of streams) await stream.stop()
  })

  it('are deleted only for actors that see all sessions', async () => {
    const { id } = await course.book({}, 'user')
    await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
    await course.clock.advance(31 * 86_400_000)
    const streams = [await course.follow('', 'user'), await course.follow('', 'admin')]
    await course.tend(1_000)
    const [own, all] = await Promise.all(streams.map(stream => about(stream, id)))
    expect(own).not.toContain('session.deleted')
    expect(all).toContain('session.deleted')
    for (const stream of streams) await stream.stop()
  })

  it('and their decisions go only to actors that may see them', async () => {
    const stop = course.run()
    const streams = [await course.follow('types=decision', 'user'), await course.follow('types=decision', 'author')]
    const worker = await course.serving()
    const { id } = await course.book({}, 'user')
    await course.assign(id, worker.id)
    await course.clock.advance(3_000)
    const decided = async (stream: Stream) =>
      (await stream.seen()).filter(event => event.type === 'decision' && event.data.resource === `session:${id}`).length
    expect([await decided(streams[0] as Stream), await decided(streams[1] as Stream)]).toEqual([1, 0])
    for (const stream of streams) await stream.stop()
    await stop()
  })
})

it('planned actions of a session are shown to actors that may see it', async () => {
  const { id } = await course.book({}, 'user')
  const headers = course.asService('lablet-controller')
  await course.fenced('POST', 'lab-records/discoveries', {}, { by: 'lablet-controller' })
  const planned = { resource: `session:${id}`, action: 'start', because: textReason('its time has come'), due_at: null }
  const json = {
    is_leader: true,
    epoch: 1,
    since: null,
    software: '0',
    queue: { due: 0, active: 0 },
    retries: 0,
    watch: { healthy: true, age_seconds: 0 },
    last_sweep: null,
    plan: [planned],
  }
  const path = 'services/lablet-controller/instances/one'
  expect((await course.send('PUT', path, { headers, json })).json).toMatchObject({ triggers: 0 })
  const shown = async (as: 'user' | 'author' | 'operator') =>
    (await course.send('GET', 'fleet/plan', { as })).json.items.length
  expect([await shown('user'), await shown('author'), await shown('operator')]).toEqual([1, 0, 1])
})

it('events of definitions and labs go to every actor, without topologies', async () => {
  const stream = await course.follow('', 'user')
  const worker = await course.serving()
  const other = await course.define({ name: 'other' })
  await course.scan(worker.id, [{ lab_id: 'a' }])
  await course.send('DELETE', `lablet-definitions/${other.id}`)
  const types = (await stream.seen()).map(event => event.type)
  expect(types).toEqual(expect.arrayContaining(['definition.deleted', 'lab.created']))
  expect(stream.texts.join('')).not.toContain('node_definition:')
  await stream.stop()
})

it('change keys carry id, version and status', async () => {
  const stop = course.run()
  const worker = await course.serving()
  const session = await course.placed(worker.id, 'INSTANTIATING')
  const lab = (await course.bind(session.id)).json
  await course.clock.advance(5_000)
  const { entries } = await course.changeKeys.source('/lcm/').list(new AbortController().signal)
  const keys = new Map(entries.map(({ key, hint }) => [key, hint]))
  expect(keys.get(`/lcm/sessions/${session.id}`)).toMatchObject({ status: 'INSTANTIATING', desired_status: 'RUNNING' })
  expect(keys.get(`/lcm/workers/${worker.id}`)).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  expect(keys.get(`/lcm/lab-records/${lab.id}`)).toMatchObject({ status: 'DEFINED' })
  expect(keys.get(`/lcm/definitions/${session.definition.id}`)).toMatchObject({ status: 'ACTIVE' })
  await stop()
})

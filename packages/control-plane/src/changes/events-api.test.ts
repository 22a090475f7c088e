import { apiClient, type PositionedEvent } from '@lcm/client/client'
import type { Role } from '@lcm/domain/actor'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, expect, it } from 'vitest'

let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  plane = aControlPlane()
})

/** Collects events until `stop`, as a client would. */
function follow(after?: string) {
  const stop = new AbortController()
  const events: PositionedEvent[] = []
  const client = apiClient(plane.dispatch, { token: 'user' })
  const ended = (async () => {
    for await (const event of client.events({ ...(after === undefined ? {} : { after }), signal: stop.signal }))
      events.push(event)
  })()
  const seen = async () => {
    await plane.clock.advance(0)
    return events.flatMap(({ event }) => ('version' in event ? [`${event.type} v${event.version}`] : [event.type]))
  }
  return {
    events,
    seen,
    async stop() {
      stop.abort()
      await ended
    },
  }
}

it('starts with a heartbeat and then sends every change', async () => {
  const stream = follow()
  expect(await stream.seen()).toEqual(['heartbeat'])
  const worker = await plane.create()
  await plane.clock.advance(0)
  await plane.send('POST', `workers/${worker.id}/stop`)
  expect(await stream.seen()).toEqual(['heartbeat', 'template.created v1', 'worker.created v1', 'worker.updated v2'])
  await stream.stop()
})

it('carries the resource as a read would return it', async () => {
  const stream = follow()
  await stream.seen()
  const worker = await plane.create()
  await stream.seen()
  expect(stream.events.at(-1)?.event).toMatchObject({ type: 'worker.created', data: worker, at: worker.updated_at })
  await stream.stop()
})

it('resumes after the last position without loss', async () => {
  const first = follow()
  await first.seen()
  const worker = await plane.create()
  await first.seen()
  await first.stop()
  await plane.send('POST', `workers/${worker.id}/stop`)
  await plane.send('POST', `workers/${worker.id}/terminate`)
  const second = follow(first.events.at(-1)?.position ?? undefined)
  expect(await second.seen()).toEqual(['heartbeat', 'worker.updated v3'])
  await second.stop()
})

it('resumes from the revision of a list', async () => {
  await plane.create()
  const { json } = await plane.send('GET', 'workers')
  await plane.create({ name: 'later' })
  const stream = follow(json.revision)
  expect(await stream.seen()).toEqual(['heartbeat', 'worker.created v1'])
  await stream.stop()
})

it('sends a reset for an unknown position, and continues from now', async () => {
  const stream = follow('from-elsewhere')
  expect(await stream.seen()).toEqual(['heartbeat', 'reset'])
  await plane.create()
  expect(await stream.seen()).toEqual(['heartbeat', 'reset', 'template.created v1', 'worker.created v1'])
  await stream.stop()
})

it('sends deletions', async () => {
  const worker = await plane.create()
  await plane.send('POST', `workers/${worker.id}/terminate`)
  await plane.report(worker.id, 2, { status: 'TERMINATED' })
  const stream = follow()
  await stream.seen()
  await plane.send('DELETE', `workers/${worker.id}`)
  expect(await stream.seen()).toEqual(['heartbeat', 'worker.deleted v4'])
  await stream.stop()
})

it('sends a heartbeat every 15 s while idle', async () => {
  const stream = follow()
  await stream.seen()
  await plane.clock.advance(45_000)
  expect(await stream.seen()).toEqual(['heartbeat', 'heartbeat', 'heartbeat', 'heartbeat'])
  await stream.stop()
})

it('publishes a change key for every worker, including older ones', async () => {
  const before = await plane.create({ name: 'before' })
  const stop = new AbortController()
  const running = Promise.all(plane.services.map(service => service.run(stop.signal)))
  await plane.clock.advance(0)
  const after = await plane.create({ name: 'after' })
  await plane.send('POST', `workers/${before.id}/stop`)
  await plane.clock.advance(0)
  const { entries } = await plane.changeKeys.source('/lcm/workers/').list(stop.signal)
  expect(entries.map(entry => [entry.key, entry.hint.desired_status, entry.hint.version]).sort()).toEqual(
    [
      [`/lcm/workers/${before.id}`, 'STOPPED', 2],
      [`/lcm/workers/${after.id}`, 'RUNNING', 1],
    ].sort(),
  )
  stop.abort()
  await plane.clock.advance(0)
  await running
})

it('limits the streams of one actor', async () => {
  const leave = new AbortController()
  const open = async (as: Role, signal = leave.signal) => (await plane.send('GET', 'events', { as, signal })).status
  for (let n = 0; n < 250; n += 1) {
    await plane.clock.advance(1_000)
    expect(await open('user')).toBe(200)
  }
  const refused = await plane.send('GET', 'events', { as: 'user' })
  expect(refused).toMatchObject({ status: 429, json: { code: 'too_many_clients' } })
  expect(await open('operator')).toBe(200)
  leave.abort()
  expect(await open('user', new AbortController().signal)).toBe(200)
})

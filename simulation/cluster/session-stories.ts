import { once } from 'node:events'
import { connect } from 'node:net'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { CONTROLLERS, type ControllerCluster, inTime } from './clusters/controller-cluster.ts'
import { isRunning, type Learner, WHOLE_STORY } from './load/learner.ts'

const GREETING_MS_MAX = 5_000
const LIMIT_MS = 120_000

/** First text of each access line of the session. */
export const greetings = ({ access }: LabletSession): Promise<string[]> =>
  Promise.all(
    access.map(async ({ host, port }) => {
      const socket = connect({ host, port })
      const giveUp = new AbortController()
      const cancel = systemClock.after(GREETING_MS_MAX, () => giveUp.abort())
      try {
        const [text] = await once(socket, 'data', { signal: giveUp.signal })
        return String(text)
      } finally {
        cancel()
        socket.destroy()
      }
    }),
  )

/** Node tag that requests the access from CML, by protocol. */
const TAGS: Readonly<Record<string, string>> = { serial: 'serial', tcp: 'pat' }

/** Every access line leads to its own node in the session's own lab. */
export async function expectAccess(session: LabletSession): Promise<void> {
  const lines = session.access.map(({ node, protocol }) => `${node} ${protocol}`)
  expect(lines.toSorted()).toEqual(['r1 serial', 'r2 serial', 'r2 tcp'])
  const texts = await greetings(session)
  for (const [index, { node, protocol }] of session.access.entries())
    expect(texts[index]).toMatch(new RegExp(`^${TAGS[protocol]} of node '${node}' in lab '.* ${session.id}'`))
}

/** Tests of sessions for any store. `killApi` kills an API process while a lab is created. */
export function sessionStories(
  setup: () => { cluster: ControllerCluster; learner: Learner },
  killApi: () => Promise<unknown>,
): void {
  it('runs a lab with working access, extends it, and removes everything at the end', {
    timeout: LIMIT_MS,
  }, async () => {
    const { cluster, learner } = setup()
    const booked = await learner.book()
    const running = await learner.until(booked.id, 'start', isRunning)
    await expectAccess(running)
    expect(await learner.labsOf(booked.id)).toBe(1)
    const reserved = (await learner.workers()).flatMap(({ reservations }) => Object.keys(reservations))
    expect(reserved).toEqual([booked.id])

    const extended = await cluster.client.call('extendSession', { params: { id: booked.id }, body: { minutes: 15 } })
    const minutes = (Date.parse(extended.timeslot.end) - Date.parse(booked.timeslot.end)) / 60_000
    expect(minutes).toBe(15)

    const ended = await learner.cancel(booked.id)
    expect(ended).toMatchObject({ last_error: null })
    expect(ended.state_history.map(({ to }) => to)).toEqual(WHOLE_STORY)
    await expectNothingLeft(learner, booked.id)
    await expect(greetings(running)).rejects.toThrow()
  })

  it('creates one lab when the leader of every controller and an API are killed meanwhile', {
    timeout: LIMIT_MS,
  }, async () => {
    const { cluster, learner } = setup()
    const { id } = await learner.book()
    const [first] = await Promise.all([
      learner.until(id, 'start', isRunning),
      cluster.startStandby('lablet-controller'),
    ])
    const leaders = await Promise.all(CONTROLLERS.map(cluster.leaderOf))
    const second = await learner.book()
    await learner.until(second.id, 'making', ({ status }) => status === 'INSTANTIATING')
    const kills = leaders.map(leader => cluster.end(leader, 'SIGKILL'))
    await Promise.all([...kills, killApi()])
    await inTime('a lab', async () => ((await learner.labsOf(second.id)) > 0 ? true : null))
    await cluster.end(await cluster.leaderOf('lablet-controller'), 'SIGKILL')

    const made = await learner.until(second.id, 'start', isRunning)
    await expectAccess(made)
    expect(made.state_history.map(({ to }) => to)).toEqual(WHOLE_STORY.slice(0, WHOLE_STORY.indexOf('RUNNING') + 1))
    expect([await learner.labsOf(first.id), await learner.labsOf(second.id)]).toEqual([1, 1])
    await expectAccess(await learner.session(first.id))
    const standbys = CONTROLLERS.map(cluster.startStandby)
    await Promise.all([...standbys, learner.cancel(first.id), learner.cancel(second.id)])
    await expectNothingLeft(learner, first.id, second.id)
  })
}

/** No labs of the sessions on CML, and no reservations and ports on the workers. */
async function expectNothingLeft(learner: Learner, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await learner.labsOf(id)).toBe(0)
  for (const { reservations, ports } of await learner.workers())
    expect({ reservations, ports }).toEqual({ reservations: {}, ports: {} })
}

import { toInstant } from '@lcm/domain/instant'
import { describe, expect, it } from 'vitest'
import { type LabWorld, labWorld, MINUTE_MS } from './testing/lab-world.ts'
import { type Happening, story, undisturbed } from './testing/story.ts'

/** Virtual time has no wall-clock limits: a story ends by itself. */
const NO_TIMEOUT = 0

const becomes = (world: LabWorld, status: 'RUNNING' | 'STOPPED' | 'TERMINATED') =>
  world.changeWorker({
    status,
    service_status: status === 'RUNNING' ? 'AVAILABLE' : 'UNAVAILABLE',
    entered_status_at: toInstant(world.clock.now()),
  })

const isTerminated: Happening = async world => {
  await becomes(world, 'TERMINATED')
  return 'goes on'
}
const isAwayForAWhile: Happening = async world => {
  await becomes(world, 'STOPPED')
  world.clock.after(40 * MINUTE_MS, () => void becomes(world, 'RUNNING'))
  return 'goes on'
}

describe('a worker that is lost at any change', () => {
  it(
    'for good, ends what ran on it, has what was about to placed anew, and keeps no room',
    async () => {
      for (const index of (await undisturbed()).keys()) {
        const world = await labWorld()
        const { session } = await story(world, { at: index + 1, when: 'before' }, isTerminated)
        const hadBegun = session.state_history.some(({ to }) => to === 'READY')
        expect(['PENDING', 'TERMINATED', 'ARCHIVED']).toContain(session.status)
        expect(session.status === 'PENDING').toBe(!hadBegun)
        expect((await world.worker()).reservations).toEqual({})
      }
    },
    NO_TIMEOUT,
  )

  it(
    'for a while, has its labs removed when it is back, and their room given back then',
    async () => {
      for (const index of (await undisturbed()).keys()) {
        const world = await labWorld()
        const { session } = await story(world, { at: index + 1, when: 'before' }, isAwayForAWhile, 90 * MINUTE_MS)
        expect(['PENDING', 'TERMINATED', 'ARCHIVED']).toContain(session.status)
        expect([index, await world.labsThere()]).toEqual([index, []])
        expect([index, (await world.worker()).reservations]).toEqual([index, {}])
      }
    },
    NO_TIMEOUT,
  )
})

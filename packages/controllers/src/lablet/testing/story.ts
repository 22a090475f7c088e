import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { aController } from './a-controller.ts'
import { type LabWorld, labWorld, MINUTE_MS } from './lab-world.ts'
import { type Fate, mortal, type Turn } from './mortal.ts'

const END_MS = 150 * MINUTE_MS
let stories = 0

export interface Story {
  readonly session: LabletSession
  readonly sent: readonly string[]
  readonly isReached: boolean
  /** The most labs that the session had at a time. */
  readonly labsMax: number
}

export type Happening = (world: LabWorld, id: string, controller: string) => Promise<Fate>

/** One session from its place to its end, with a controller that something happens to and another that stands by. */
export async function story(world: LabWorld, turn: Turn, happening: Happening, afterwardsMs = 0): Promise<Story> {
  stories += 1
  const id = `ls-${stories}`
  const first = `first-of-${id}`
  const parts = { client: world.plane.client('lablet-controller'), labs: world.labs }
  const watched = mortal(parts, turn, () => happening(world, id, first))
  aController(world, first, watched)
  await world.clock.advance(0)
  const second = aController(world, `second-of-${id}`)
  await world.book(id)
  let labsMax = 0
  for (let ms = 0; ms < END_MS && !isOver(await world.session(id)); ms += 5_000) {
    await world.clock.advance(5_000)
    // Thousands of requests are of no interest here.
    world.plane.requests.length = 0
    labsMax = Math.max(labsMax, world.model.cml.contextOf(world.instanceId)?.labs.length ?? 0)
  }
  await world.clock.advance(afterwardsMs)
  world.coordination.faults.crash(first)
  await second.stop()
  return { session: await world.session(id), sent: watched.sent, isReached: watched.isReached(), labsMax }
}

const isOver = ({ status }: LabletSession): boolean => isFinal(status) || status === 'PENDING'

const NEVER: Turn = { at: Number.POSITIVE_INFINITY, when: 'before' }
/** The changes that a controller makes when nothing happens. */
export const undisturbed = async () => (await story(await labWorld(), NEVER, async () => 'goes on')).sent
/** The changes up to and including the first with that name. */
export const upTo = (changes: readonly string[], name: string) => changes.slice(0, changes.indexOf(name) + 1)

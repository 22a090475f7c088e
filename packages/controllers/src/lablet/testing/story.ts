import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { aController } from './a-controller.ts'
import { type LabRig, labRig, MINUTE_MS } from './lab-rig.ts'
import { type CrashPoint, type Fate, mortal } from './mortal.ts'

const END_MS = 150 * MINUTE_MS
let stories = 0

export interface Story {
  readonly session: LabletSession
  readonly sent: readonly string[]
  readonly isReached: boolean
  /** The most labs that the session had at a time. */
  readonly labsMax: number
}

export type Happening = (rig: LabRig, id: string, controller: string) => Promise<Fate>

/** One session from its place to its end, with a controller that something happens to and another that stands by. */
export async function story(rig: LabRig, point: CrashPoint, happening: Happening, afterwardsMs = 0): Promise<Story> {
  stories += 1
  const id = `ls-${stories}`
  const first = `first-of-${id}`
  const parts = { client: rig.plane.client('lablet-controller'), labs: rig.labs }
  const watched = mortal(parts, point, () => happening(rig, id, first))
  aController(rig, first, watched)
  await rig.clock.advance(0)
  const second = aController(rig, `second-of-${id}`)
  await rig.book(id)
  let labsMax = 0
  for (let ms = 0; ms < END_MS && !isOver(await rig.session(id)); ms += 5_000) {
    await rig.clock.advance(5_000)
    // Thousands of requests are of no interest here.
    rig.plane.requests.length = 0
    labsMax = Math.max(labsMax, rig.model.cml.contextOf(rig.instanceId)?.labs.length ?? 0)
  }
  await rig.clock.advance(afterwardsMs)
  rig.coordination.faults.crash(first)
  await second.stop()
  return { session: await rig.session(id), sent: watched.sent, isReached: watched.isReached(), labsMax }
}

const isOver = ({ status }: LabletSession): boolean => isFinal(status) || status === 'PENDING'

const NEVER: CrashPoint = { at: Number.POSITIVE_INFINITY, when: 'before' }
/** The changes that a controller makes when nothing happens. */
export const undisturbed = async () => (await story(await labRig(), NEVER, async () => 'goes on')).sent
/** The changes up to and including the first with that name. */
export const upTo = (changes: readonly string[], name: string) => changes.slice(0, changes.indexOf(name) + 1)

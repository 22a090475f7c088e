import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { aController } from './a-controller.ts'
import { type AfterCrashPoint, type CrashPoint, crashingProcess } from './crashing-process.ts'
import { type LabRig, labRig, MINUTE_MS } from './lab-rig.ts'

const END_MS = 150 * MINUTE_MS
/** Long enough for a lab to run, and short, because a running lab costs only virtual time. */
const TIMESLOT_MS = 5 * MINUTE_MS
const ID = 'ls-1'

export interface Story {
  readonly rig: LabRig
  readonly session: LabletSession
  readonly sent: readonly string[]
  readonly isReached: boolean
  /** The most labs that the session had at a time. */
  readonly labsMax: number
}

export type Happening = (rig: LabRig, id: string, controller: string) => Promise<AfterCrashPoint>

export const dies: Happening = async (rig, _, controller) => {
  rig.coordination.faults.crash(controller)
  return 'dies'
}
/** Another instance leads at once, and this one does not notice for a while. */
export const isZombie: Happening = async rig => {
  rig.coordination.faults.loseLease('lablet-controller', { noticedAfterMs: 60_000 })
  return 'goes on'
}

/** Virtual time has no wall-clock limits: a story ends by itself. */
export const NO_TIMEOUT = 0

export interface StoryOptions {
  readonly afterwardsMs?: number
  /** Prepares the rig before the controllers lead. */
  before?(rig: LabRig): Promise<void>
  /** Changes the session as it was booked. */
  readonly booked?: Partial<LabletSession>
  /** Called every 5 s. */
  meanwhile?(rig: LabRig, session: LabletSession): Promise<void>
}

/** One session from its placement to its end, with one controller that has an incident and one standby. */
export async function story(point: CrashPoint, happening: Happening, options: StoryOptions = {}): Promise<Story> {
  const rig = await labRig({ timeslotMs: TIMESLOT_MS })
  await options.before?.(rig)
  const parts = { client: rig.plane.client('lablet-controller'), labs: rig.labs }
  const watched = crashingProcess(parts, point, () => happening(rig, ID, 'first'))
  aController(rig, 'first', watched)
  await rig.clock.advance(0)
  const second = aController(rig, 'second')
  await rig.book(ID)
  if (options.booked !== undefined) await rig.change(ID, options.booked)
  let labsMax = 0
  for (let ms = 0; ms < END_MS && !isOver(await rig.session(ID)); ms += 5_000) {
    await rig.clock.advance(5_000)
    await options.meanwhile?.(rig, await rig.session(ID))
    // Thousands of requests would only cost memory here.
    rig.plane.requests.length = 0
    labsMax = Math.max(labsMax, rig.model.cml.contextOf(rig.instanceId)?.labs.length ?? 0)
  }
  await rig.clock.advance(options.afterwardsMs ?? 0)
  rig.coordination.faults.crash('first')
  await second.stop()
  return { rig, session: await rig.session(ID), sent: watched.sent, isReached: watched.isReached(), labsMax }
}

const isOver = ({ status }: LabletSession): boolean => isFinal(status) || status === 'PENDING'

const NEVER: CrashPoint = { at: Number.POSITIVE_INFINITY, when: 'before' }
/** The changes that a controller makes when nothing happens. */
export const undisturbed = async (options?: StoryOptions) => (await story(NEVER, async () => 'goes on', options)).sent
/** The changes up to and including the first with that name. */
export const upTo = (changes: readonly string[], name: string) => changes.slice(0, changes.indexOf(name) + 1)

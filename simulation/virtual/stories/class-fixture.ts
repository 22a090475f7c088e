import { type Learners, learnersOf, SETTLED_MS } from '../people/learner-requests.ts'
import type { ControllerProcess } from '../world/controller-process.ts'
import type { WorldOptions } from '../world/world.ts'
import { aStory, type Story } from './story-fixture.ts'

export interface Class extends Story {
  readonly scheduler: ControllerProcess
  readonly lablets: ControllerProcess
  readonly learner: Learners
  /** Waits for the end of all sessions and checks that nothing is left. */
  over(): Promise<void>
}

/** A story with session controllers and definitions to book. */
export async function aClass(seed: number, options: WorldOptions = {}): Promise<Class> {
  const story = await aStory(seed, options)
  const { world } = story
  const learner = learnersOf(world)
  await learner.define()
  return {
    ...story,
    learner,
    scheduler: world.sessions.start('resource-scheduler', 'scheduler'),
    lablets: world.sessions.start('lablet-controller', 'lablets'),
    async over() {
      await learner.untilAllOver()
      await world.runFor(SETTLED_MS)
      const left = world.sessions.leftovers()
      if (left.length > 0) throw new Error(`seed ${world.time.seed}: ${left.join('\n')}`)
      await story.done()
    },
  }
}

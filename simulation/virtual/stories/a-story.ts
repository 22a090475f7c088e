import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator.ts'
import type { ControllerProcess } from '../world/controller-process.ts'
import { openWorld, type World, type WorldOptions } from '../world/world.ts'

export interface Story {
  readonly world: World
  /** The first controller. */
  readonly one: ControllerProcess
  /** What people ask of the API. */
  readonly operator: Operator
  /** Manual changes that LCM isn't told about. */
  readonly manual: ManualChanges
  /** Checks once more what must hold, and ends the world. */
  done(): Promise<void>
}

/** A world with one controller and somebody in it. Machines boot quickly unless said otherwise. */
export async function aStory(seed: number, options: WorldOptions = {}): Promise<Story> {
  const world = await openWorld(seed, { speed: 10, ...options })
  const one = world.startController('one')
  return { world, one, operator: operatorOf(world), manual: manualChangesOf(world), done: world.close }
}

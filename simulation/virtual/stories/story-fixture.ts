import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator-requests.ts'
import type { ControllerProcess } from '../world/controller-process.ts'
import { openWorld, type World, type WorldOptions } from '../world/world.ts'

export interface Story {
  readonly world: World
  /** The first controller. */
  readonly one: ControllerProcess
  /** Requests to the API. */
  readonly operator: Operator
  /** Manual changes, unknown to LCM. */
  readonly manual: ManualChanges
  /** Checks all invariants once more and stops everything. */
  done(): Promise<void>
}

/** A world with one controller. Machines boot quickly by default. */
export async function aStory(seed: number, options: WorldOptions = {}): Promise<Story> {
  const world = await openWorld(seed, { speed: 10, ...options })
  const one = world.startWorkerController('one')
  return { world, one, operator: operatorOf(world), manual: manualChangesOf(world), done: world.close }
}

import type { Worker } from '@lcm/domain/worker/worker'
import { type Learners, learnersOf } from '../people/learners.ts'
import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator.ts'
import type { World } from '../world/world.ts'
import type { Act } from './act.ts'
import { type ControllerReplicas, controllerReplicas } from './controller-replicas.ts'
import type { RunSize } from './plan.ts'

/** Everybody and everything that acts are done by and to. */
export interface ActContext {
  readonly world: World
  readonly size: RunSize
  readonly operator: Operator
  readonly manual: ManualChanges
  readonly learner: Learners
  readonly replicas: ControllerReplicas
}

/** What an act does. What it can't do now it does not do: it throws. */
export type Perform = (context: ActContext, act: Act) => unknown

export const actContext = (world: World, size: RunSize): ActContext => ({
  world,
  size,
  operator: operatorOf(world),
  manual: manualChangesOf(world),
  learner: learnersOf(world),
  replicas: controllerReplicas(world),
})

/** The one of them that the share points at. */
export function pick<T>(items: readonly T[], share: number): T {
  const item = items[Math.floor(share * items.length)]
  if (item === undefined) throw new Error('there is nothing to choose from')
  return item
}

/** In the order of their making, so that a share means the same one for as long as they live. */
export const living = ({ world }: Pick<ActContext, 'world'>): readonly Worker[] =>
  world.workers().filter(({ status }) => status !== 'TERMINATED')

export const machineOf = (context: ActContext, { target }: Act): string =>
  pick(
    living(context).flatMap(({ ec2_instance_id }) => ec2_instance_id ?? []),
    target,
  )

import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Learners, learnersOf } from '../people/learner-requests.ts'
import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator-requests.ts'
import { type SignIns, signInsOf } from '../people/sign-ins.ts'
import { type ControllerReplicas, controllerReplicas } from '../world/controller-replicas.ts'
import type { World } from '../world/world.ts'
import type { Act } from './act.ts'
import type { RunSize } from './plan.ts'

/** Everything that an act can use or change. */
export interface ActContext {
  readonly world: World
  readonly size: RunSize
  readonly operator: Operator
  readonly manual: ManualChanges
  readonly learner: Learners
  readonly people: SignIns
  readonly replicas: ControllerReplicas
}

/** Performs an act. Throws when the act isn't possible now. */
export type Perform = (context: ActContext, act: Act) => unknown

export const actContext = (world: World, size: RunSize): ActContext => ({
  world,
  size,
  operator: operatorOf(world),
  manual: manualChangesOf(world),
  learner: learnersOf(world),
  people: signInsOf(world),
  replicas: controllerReplicas(world),
})

/** Picks an item by a share of 0 to 1. */
export function pick<T>(items: readonly T[], share: number): T {
  const item = items[Math.floor(share * items.length)]
  if (item === undefined) throw new Error('nothing to choose from')
  return item
}

/** Sessions that have not ended. */
export const openSessions = (
  { sessions }: World,
  isMeant: (session: LabletSession) => boolean = () => true,
): readonly LabletSession[] =>
  [...sessions.sessions.values()].filter(session => !isFinal(session.status) && isMeant(session))

export const isUp = ({ status }: LabletSession): boolean => status === 'READY' || status === 'RUNNING'

/** In order of creation, so that a share picks the same worker for as long as it exists. */
export const living = ({ world }: Pick<ActContext, 'world'>): readonly Worker[] =>
  world.workers().filter(({ status }) => status !== 'TERMINATED')

export const machineOf = (context: ActContext, { target }: Act): string =>
  pick(
    living(context).flatMap(({ ec2_instance_id }) => ec2_instance_id ?? []),
    target,
  )

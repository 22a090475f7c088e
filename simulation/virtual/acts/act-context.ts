import type { Worker } from '@lcm/domain/worker/worker'
import { type Learners, learners } from '../people/learners.ts'
import { type Hands, hands } from '../people/manual-changes.ts'
import { type People, people } from '../people/operator.ts'
import type { World } from '../world/world.ts'
import type { Act } from './act.ts'
import { type Crew, crew } from './controller-replicas.ts'
import type { RunSize } from './plan.ts'

/** Everybody and everything that acts are done by and to. */
export interface Stage {
  readonly world: World
  readonly size: RunSize
  readonly ask: People
  readonly hand: Hands
  readonly learner: Learners
  readonly crew: Crew
}

/** What an act does. What it can't do now it does not do: it throws. */
export type Perform = (stage: Stage, act: Act) => unknown

export const setStage = (world: World, size: RunSize): Stage => ({
  world,
  size,
  ask: people(world),
  hand: hands(world),
  learner: learners(world),
  crew: crew(world),
})

/** The one of them that the share points at. */
export function pick<T>(items: readonly T[], share: number): T {
  const item = items[Math.floor(share * items.length)]
  if (item === undefined) throw new Error('there is nothing to choose from')
  return item
}

/** In the order of their making, so that a share means the same one for as long as they live. */
export const living = ({ world }: Pick<Stage, 'world'>): readonly Worker[] =>
  world.workers().filter(({ status }) => status !== 'TERMINATED')

export const machineOf = (stage: Stage, { who }: Act): string =>
  pick(
    living(stage).flatMap(({ ec2_instance_id }) => ec2_instance_id ?? []),
    who,
  )

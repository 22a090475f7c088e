import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { Demand } from './demand.ts'
import type { FreeCapacity } from './free-capacity.ts'
import { filled } from './free-capacity.ts'
import type { LabletSession } from './lablet-session.ts'

/** A session to place, with its demand. */
export interface Waiting {
  readonly session: LabletSession
  readonly definition: LabletDefinition
  readonly demand: Demand
  /** Workers that may still have its lab of an earlier placement, and keep the capacity reserved for it. */
  readonly leftBehindOn: ReadonlySet<string>
}

/** By worker id. */
export type CapacityByWorker = Map<string, FreeCapacity>

/** The capacities that the session may take. */
export function* capacitiesFor({ leftBehindOn }: Waiting, capacities: CapacityByWorker): Iterable<FreeCapacity> {
  for (const [id, capacity] of capacities) if (!leftBehindOn.has(id)) yield capacity
}

export function take(capacities: CapacityByWorker, capacity: FreeCapacity, { session, demand }: Waiting): void {
  capacities.set(capacity.worker.id, filled(capacity, demand, session.updated_at))
}

import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { LabletSession } from './lablet-session.ts'
import { type Demand, filled } from './placement.ts'
import type { Room } from './room.ts'

/** A session to place, and what it needs. */
export interface Waiting {
  readonly session: LabletSession
  readonly definition: LabletDefinition
  readonly demand: Demand
  /** Workers that may still have its lab of an earlier placement, and keep the capacity reserved for it. */
  readonly leftBehindOn: ReadonlySet<string>
}

/** By worker id. */
export type Rooms = Map<string, Room>

/** The rooms that may be given to it. */
export function* roomsFor({ leftBehindOn }: Waiting, rooms: Rooms): Iterable<Room> {
  for (const [id, room] of rooms) if (!leftBehindOn.has(id)) yield room
}

export function take(rooms: Rooms, room: Room, { session, demand }: Waiting): void {
  rooms.set(room.worker.id, filled(room, demand, session.updated_at))
}

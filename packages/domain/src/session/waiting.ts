import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { LabletSession } from './lablet-session.ts'
import { type Demand, filled } from './placement.ts'
import type { Room } from './room.ts'

/** A session that is to be placed, and what it takes. */
export interface Waiting {
  readonly session: LabletSession
  readonly definition: LabletDefinition
  readonly demand: Demand
  /** Workers that may still have its lab of an earlier try, and keep the room for that. */
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

export const countedSessions = (count: number): string => (count === 1 ? '1 session' : `${count} sessions`)

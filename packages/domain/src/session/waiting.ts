import type { LabletDefinition } from '../lablet/lablet-definition.ts'
import type { LabletSession } from './lablet-session.ts'
import { type Demand, filled } from './placement.ts'
import type { Room } from './room.ts'

/** A session that is to be placed, and what it takes. */
export interface Waiting {
  readonly session: LabletSession
  readonly definition: LabletDefinition
  readonly demand: Demand
  /** A worker that may still have its lab of an earlier try, and keeps the room for that; null when there is none. */
  readonly leftBehindOn: string | null
}

/** By worker id. */
export type Rooms = Map<string, Room>

/** The rooms that may be given to it. */
export function* roomsFor({ leftBehindOn }: Waiting, rooms: Rooms): Iterable<Room> {
  for (const [id, room] of rooms) if (id !== leftBehindOn) yield room
}

export function take(rooms: Rooms, room: Room, { session, demand }: Waiting): void {
  rooms.set(room.worker.id, filled(room, demand, session.updated_at))
}

export const countedSessions = (count: number): string => (count === 1 ? '1 session' : `${count} sessions`)

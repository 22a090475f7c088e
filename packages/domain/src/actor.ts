import type { Instant } from './instant.ts'

/** `admin` all but the controllers' routes; `operator` the fleet; `author` definitions; `user` own sessions, reads the fleet. */
export const ROLES = ['admin', 'operator', 'author', 'user', 'controller'] as const
export type Role = (typeof ROLES)[number]

export const SERVICES = ['control-plane-api', 'resource-scheduler', 'lablet-controller', 'worker-controller'] as const
export type ServiceName = (typeof SERVICES)[number]

/** The authenticated caller. `service` is set for controllers only. */
export interface Actor {
  /** The id of the person, or the name of the service. It stays the same when the name changes. */
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly service: ServiceName | null
  /** When the token of the caller ends; absent if it doesn't. Sign-ins with it end then too. */
  readonly expires_at?: Instant
}

/** `admin` all but the controllers' routes; `operator` the fleet; `author` definitions; `user` own sessions, reads the fleet. */
export const ROLES = ['admin', 'operator', 'author', 'user', 'controller'] as const
export type Role = (typeof ROLES)[number]

export const SERVICES = ['control-plane-api', 'resource-scheduler', 'lablet-controller', 'worker-controller'] as const
export type ServiceName = (typeof SERVICES)[number]

/** Who is asking, as the API found out. `service` is set for controllers only. */
export interface Actor {
  readonly name: string
  readonly role: Role
  readonly service: ServiceName | null
}

/** Who may call a route: anybody, these roles, or the controllers of one service. */
export type Access = 'open' | { readonly roles: readonly Role[] } | { readonly controllersOf: ServiceName }

export const EVERYONE: Access = { roles: ROLES }
export const OPERATORS: Access = { roles: ['admin', 'operator'] }
export const ADMINS: Access = { roles: ['admin'] }

export function mayCall(actor: Actor, access: Access): boolean {
  if (access === 'open') return true
  if ('roles' in access) return access.roles.includes(actor.role)
  return actor.role === 'controller' && actor.service === access.controllersOf
}

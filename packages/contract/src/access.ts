import { type Actor, ROLES, type Role, type ServiceName } from '@lcm/domain/actor'

/** Who may call a route: anybody, these roles, or the controllers of one service, or of any for its own affairs. */
export type Access = 'open' | { readonly roles: readonly Role[] } | { readonly controllersOf: ServiceName | 'any' }

export const EVERYONE: Access = { roles: ROLES }
/** Controllers book nothing and cancel nothing. */
export const PEOPLE: Access = { roles: ['admin', 'operator', 'author', 'user'] }
export const OPERATORS: Access = { roles: ['admin', 'operator'] }
export const ADMINS: Access = { roles: ['admin'] }

export function mayCall(actor: Actor, access: Access): boolean {
  if (access === 'open') return true
  if ('roles' in access) return access.roles.includes(actor.role)
  if (actor.role !== 'controller') return false
  return access.controllersOf === 'any' || actor.service === access.controllersOf
}

/** Who runs the fleet may touch everything; everybody else only what is their own. */
export const mayTouch = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'admin' || actor.role === 'operator' || actor.id === ownerId

/** Controllers look after everybody's. */
export const maySee = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'controller' || mayTouch(actor, ownerId)

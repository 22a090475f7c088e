import { type Actor, ROLES, type Role, type ServiceName } from '@lcm/domain/actor'

/** The callers that a route accepts: everyone, some roles, the controllers of one service, or any controller. */
export type Access = 'open' | { readonly roles: readonly Role[] } | { readonly controllersOf: ServiceName | 'any' }

export const EVERYONE: Access = { roles: ROLES }
/** Every role but `controller`: controllers neither book nor cancel sessions. */
export const PEOPLE: Access = { roles: ['admin', 'operator', 'author', 'user'] }
export const OPERATORS: Access = { roles: ['admin', 'operator'] }
export const AUTHORS: Access = { roles: ['admin', 'author'] }
export const ADMINS: Access = { roles: ['admin'] }
export const ANY_CONTROLLER: Access = { controllersOf: 'any' }
export const WORKER_CONTROLLER: Access = { controllersOf: 'worker-controller' }
export const SCHEDULER: Access = { controllersOf: 'resource-scheduler' }
export const LABLET_CONTROLLER: Access = { controllersOf: 'lablet-controller' }

export function mayCall(actor: Actor, access: Access): boolean {
  if (access === 'open') return true
  if ('roles' in access) return access.roles.includes(actor.role)
  if (actor.role !== 'controller') return false
  return access.controllersOf === 'any' || actor.service === access.controllersOf
}

/** Admins and operators may modify every resource, all others only their own. */
export const mayModify = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'admin' || actor.role === 'operator' || actor.id === ownerId

/** Controllers also see the resources of all owners. */
export const mayView = (actor: Actor, ownerId: string): boolean =>
  actor.role === 'controller' || mayModify(actor, ownerId)

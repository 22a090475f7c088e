import { mayCall, maySee } from '@lcm/contract/access'
import { ROUTES, type RouteName } from '@lcm/contract/routes'
import type { Info } from './live-state.ts'

/** Whether the API would let this person call the route, by the table that the API itself goes by. */
export const isAllowed = (info: Info | null, route: RouteName): boolean =>
  info !== null && mayCall({ ...info.actor, service: null }, ROUTES[route].access)

/** Whether the API tells this person of sessions that are not theirs: what else is counted are only their own. */
export const canSeeAllSessions = (info: Info | null): boolean =>
  info !== null && maySee({ ...info.actor, service: null }, '')

import { isLearner, mayCall, mayView } from '@lcm/contract/route-spec'
import { ROUTES, type RouteName } from '@lcm/contract/routes'
import type { Info } from './live-state.ts'

/** Whether the user may call the route, by the same table that the API checks. */
export const isAllowed = (info: Info | null, route: RouteName): boolean =>
  info !== null && mayCall({ ...info.actor, service: null }, ROUTES[route].access)

/**
 * Whether the API returns other users' sessions and the machines of workers too. Otherwise all counts cover the user's own sessions
 * only.
 */
export const canSeeAllSessions = (info: Info | null): boolean =>
  info !== null && mayView({ ...info.actor, service: null }, '')

/** Learners read what concerns them, in other words than operators. */
export const readsAsLearner = (info: Info | null): boolean => info !== null && isLearner(info.actor)

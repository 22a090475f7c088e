import type { z } from 'zod'
import { ADMINISTRATION_ROUTES } from './administration.ts'
import { CALENDAR_ROUTES } from './calendar/calendar.ts'
import { CAPACITY_PREVIEW_ROUTES } from './calendar/capacity-preview.ts'
import { PLAN_CONTROLLER_ROUTES, PLAN_ROUTES } from './calendar/plan.ts'
import { TIMING_ROUTES } from './calendar/timing.ts'
import { DEFINITION_ROUTES } from './definition.ts'
import { EVENT_ROUTES } from './events.ts'
import { FLEET_CONTROLLER_ROUTES, FLEET_ROUTES } from './fleet.ts'
import { LAB_CONTROLLER_ROUTES, LAB_ROUTES } from './lab.ts'
import { LICENSE_POOL_ROUTES } from './license/license-pool.ts'
import { NOTIFICATION_ROUTES } from './notification.ts'
import { PERSON_ROUTES } from './person.ts'
import { QUOTA_ROUTES } from './quota.ts'
import type { RouteSpec } from './route-spec.ts'
import { SERVICE_CONTROLLER_ROUTES, SERVICE_ROUTES } from './service.ts'
import { SAVE_CONTROLLER_ROUTES, SAVE_ROUTES } from './session/save.ts'
import { SESSION_CONTROLLER_ROUTES, SESSION_ROUTES } from './session/session.ts'
import { TEMPLATE_ROUTES } from './template.ts'
import { TOKEN_ROUTES } from './token.ts'
import { WORKER_CONTROLLER_ROUTES } from './worker-controller-routes.ts'
import { WORKER_ROUTES } from './worker-routes.ts'

export { API_PREFIX, type RouteSpec } from './route-spec.ts'

/** The whole REST surface. Server, client and OpenAPI document are made from this table and nothing else. */
export const ROUTES = {
  ...WORKER_ROUTES,
  ...TEMPLATE_ROUTES,
  ...FLEET_ROUTES,
  ...CALENDAR_ROUTES,
  ...CAPACITY_PREVIEW_ROUTES,
  ...LICENSE_POOL_ROUTES,
  ...PLAN_ROUTES,
  ...SERVICE_ROUTES,
  ...DEFINITION_ROUTES,
  ...SESSION_ROUTES,
  ...SAVE_ROUTES,
  ...QUOTA_ROUTES,
  ...TIMING_ROUTES,
  ...LAB_ROUTES,
  ...PERSON_ROUTES,
  ...TOKEN_ROUTES,
  ...NOTIFICATION_ROUTES,
  ...EVENT_ROUTES,
  ...ADMINISTRATION_ROUTES,
  ...WORKER_CONTROLLER_ROUTES,
  ...FLEET_CONTROLLER_ROUTES,
  ...PLAN_CONTROLLER_ROUTES,
  ...SERVICE_CONTROLLER_ROUTES,
  ...SESSION_CONTROLLER_ROUTES,
  ...SAVE_CONTROLLER_ROUTES,
  ...LAB_CONTROLLER_ROUTES,
} as const satisfies Record<string, RouteSpec>

export type RouteName = keyof typeof ROUTES
export type Route<N extends RouteName> = (typeof ROUTES)[N]

type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
export type ParamsOf<N extends RouteName> = { readonly [K in Names<Route<N>['path']>]: string }
/** As the caller writes it: fields with defaults are optional. */
export type QueryInput<N extends RouteName> =
  Route<N> extends { query: infer Q extends z.ZodType } ? z.input<Q> : undefined
export type BodyInput<N extends RouteName> =
  Route<N> extends { body: infer B extends z.ZodType } ? z.input<B> : undefined
/** As the server reads it: parsed, with defaults filled in. */
export type QueryOf<N extends RouteName> =
  Route<N> extends { query: infer Q extends z.ZodType } ? z.output<Q> : undefined
export type BodyOf<N extends RouteName> = Route<N> extends { body: infer B extends z.ZodType } ? z.output<B> : undefined
export type AnswerOf<N extends RouteName> = Route<N>['answer'] extends infer A extends z.ZodType ? z.output<A> : null

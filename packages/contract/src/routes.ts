import type { z } from 'zod'
import { FLEET_ROUTES } from './fleet.ts'
import { LABLET_CONTROLLER_ROUTES } from './lab.ts'
import type { RouteSpec } from './route.ts'
import { DEFINITION_ROUTES, LAB_ROUTES, SESSION_ROUTES } from './session.ts'
import { SYSTEM_ROUTES } from './system.ts'
import { WORKER_ROUTES } from './worker.ts'
import { CONTROLLER_ROUTES } from './worker-controller.ts'

export { API_PREFIX, type RouteSpec } from './route.ts'

/** The whole REST surface. Server, client and OpenAPI document are made from this table and nothing else. */
export const ROUTES = {
  ...WORKER_ROUTES,
  ...FLEET_ROUTES,
  ...DEFINITION_ROUTES,
  ...SESSION_ROUTES,
  ...LAB_ROUTES,
  ...SYSTEM_ROUTES,
  ...CONTROLLER_ROUTES,
  ...LABLET_CONTROLLER_ROUTES,
} as const satisfies Record<string, RouteSpec>

export type RouteName = keyof typeof ROUTES
export type Route<N extends RouteName> = (typeof ROUTES)[N]

type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
export type ParamsOf<N extends RouteName> = { readonly [K in Names<Route<N>['path']>]: string }
/** As the caller may write it: defaults may be left out. */
export type QueryInput<N extends RouteName> =
  Route<N> extends { query: infer Q extends z.ZodType } ? z.input<Q> : undefined
export type BodyInput<N extends RouteName> =
  Route<N> extends { body: infer B extends z.ZodType } ? z.input<B> : undefined
/** As the server reads it: parsed, with its defaults. */
export type QueryOf<N extends RouteName> =
  Route<N> extends { query: infer Q extends z.ZodType } ? z.output<Q> : undefined
export type BodyOf<N extends RouteName> = Route<N> extends { body: infer B extends z.ZodType } ? z.output<B> : undefined
export type AnswerOf<N extends RouteName> = Route<N>['answer'] extends infer A extends z.ZodType ? z.output<A> : null

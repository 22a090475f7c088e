import { ServiceTerm } from '@lcm/domain/fencing'
import { WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { Worker } from '@lcm/domain/worker/worker'
import type { z } from 'zod'
import { type Access, ADMINS, EVERYONE, OPERATORS } from './access.ts'
import {
  CreateToken,
  CreateWorker,
  Info,
  Intent,
  LoginLink,
  NewToken,
  Page,
  PatchWorker,
  RegisterTerm,
  ReportStatus,
  TemplateList,
  TokenList,
  WorkerList,
  WorkerQuery,
} from './bodies.ts'
import { EventEnvelope, EventQuery } from './events.ts'
import type { ProblemCode } from './problems.ts'

export const API_PREFIX = '/api/v1'

export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below API_PREFIX, with `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  readonly access: Access
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly status: number
  /** What the answer holds; null when it has no body. For a stream: what each event holds. */
  readonly answer: z.ZodType | null
  /** Where a created thing lives, filled in from the answer. */
  readonly location?: string
  readonly stream?: true
  /** `required` refuses a write that does not say which version it is based on. */
  readonly ifMatch?: 'optional' | 'required'
  /** Refuses a write that does not come from the registered term of the caller's service. */
  readonly fenced?: true
  /** Beyond those that every route shares (see openapi.ts). */
  readonly problems: readonly ProblemCode[]
}

const act = (verb: string, summary: string, problems: readonly ProblemCode[]) =>
  ({
    method: 'POST',
    path: `/workers/{id}/${verb}`,
    summary,
    access: OPERATORS,
    body: Intent,
    status: 202,
    answer: Worker,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

/** The whole REST surface. Server, client and OpenAPI document are made from this table and nothing else. */
export const ROUTES = {
  listWorkers: {
    method: 'GET',
    path: '/workers',
    summary: 'List workers',
    access: EVERYONE,
    query: WorkerQuery,
    status: 200,
    answer: WorkerList,
    problems: [],
  },
  createWorker: {
    method: 'POST',
    path: '/workers',
    summary: 'Ask for a worker',
    access: OPERATORS,
    body: CreateWorker,
    status: 201,
    answer: Worker,
    location: '/workers/{id}',
    problems: ['template_not_found', 'template_disabled', 'region_not_configured'],
  },
  getWorker: {
    method: 'GET',
    path: '/workers/{id}',
    summary: 'Read one worker',
    access: EVERYONE,
    status: 200,
    answer: Worker,
    problems: ['not_found'],
  },
  patchWorker: {
    method: 'PATCH',
    path: '/workers/{id}',
    summary: 'Rename a worker, protect it or unprotect it',
    access: OPERATORS,
    body: PatchWorker,
    status: 200,
    answer: Worker,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  deleteWorker: {
    method: 'DELETE',
    path: '/workers/{id}',
    summary: 'Remove the record of a TERMINATED worker',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'worker_not_terminated', 'version_mismatch'],
  },
  startWorker: act('start', 'Want the worker running', ['worker_terminating']),
  stopWorker: act('stop', 'Want the worker stopped, its disk kept', ['worker_terminating']),
  terminateWorker: act('terminate', 'Want the worker gone for good', ['worker_protected']),
  reportWorkerStatus: {
    method: 'PATCH',
    path: '/workers/{id}/status',
    summary: 'Report what the worker-controller saw or did',
    access: { controllersOf: 'worker-controller' },
    body: ReportStatus,
    status: 200,
    answer: Worker,
    ifMatch: 'required',
    fenced: true,
    problems: ['not_found', 'illegal_transition', 'version_mismatch', 'already_exists'],
  },
  listTemplates: {
    method: 'GET',
    path: '/worker-templates',
    summary: 'List worker templates',
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: TemplateList,
    problems: [],
  },
  createTemplate: {
    method: 'POST',
    path: '/worker-templates',
    summary: 'Add a worker template',
    access: OPERATORS,
    body: WorkerTemplateSpec,
    status: 201,
    answer: WorkerTemplate,
    location: '/worker-templates/{name}',
    problems: ['already_exists'],
  },
  getTemplate: {
    method: 'GET',
    path: '/worker-templates/{name}',
    summary: 'Read one worker template',
    access: EVERYONE,
    status: 200,
    answer: WorkerTemplate,
    problems: ['not_found'],
  },
  registerTerm: {
    method: 'PUT',
    path: '/services/{service}/term',
    summary: 'Register the term of a new leader; older ones are refused from then on',
    access: { controllersOf: 'any' },
    body: RegisterTerm,
    status: 200,
    answer: ServiceTerm,
    problems: ['stale_leader'],
  },
  resetTerm: {
    method: 'DELETE',
    path: '/services/{service}/term',
    summary: 'Forget the terms of a service, after its etcd was rebuilt or a store was restored',
    access: ADMINS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  listTokens: {
    method: 'GET',
    path: '/tokens',
    summary: 'List tokens, without their secrets',
    access: ADMINS,
    query: Page,
    status: 200,
    answer: TokenList,
    problems: [],
  },
  createToken: {
    method: 'POST',
    path: '/tokens',
    summary: 'Make a token; its secret is shown this once',
    access: ADMINS,
    body: CreateToken,
    status: 201,
    answer: NewToken,
    location: '/tokens/{id}',
    problems: [],
  },
  deleteToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    summary: 'Make a token worthless',
    access: ADMINS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  events: {
    method: 'GET',
    path: '/events',
    summary: 'Follow every change as server-sent events',
    access: EVERYONE,
    query: EventQuery,
    status: 200,
    answer: EventEnvelope,
    stream: true,
    problems: ['too_many_clients'],
  },
  info: {
    method: 'GET',
    path: '/info',
    summary: 'Which LCM this is, and who you are to it',
    access: EVERYONE,
    status: 200,
    answer: Info,
    problems: [],
  },
  createLoginLink: {
    method: 'POST',
    path: '/login-links',
    summary: 'Make a one-time link that logs a browser in',
    access: ADMINS,
    status: 201,
    answer: LoginLink,
    problems: [],
  },
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

import { PROBLEMS, type ProblemCode } from '../problem-codes.ts'
import type { Problem } from '../problems.ts'
import { PROBLEM_MEDIA_TYPE } from '../problems.ts'
import { API_PREFIX, type RouteSpec } from '../routes.ts'
import type { Answer, Example, Reference } from './document-types.ts'
import { type HeaderName, headerReferences } from './parameters-and-headers.ts'

/** Problems that a route may return besides its own. */
export function sharedProblemsOf(route: RouteSpec): ProblemCode[] {
  const codes: ProblemCode[] = [
    'method_not_allowed',
    'wrong_host',
    'rate_limited',
    'internal_error',
    'store_unavailable',
  ]
  if (!route.stream) codes.push('deadline_exceeded')
  if (route.path.includes('{')) codes.push('not_found', 'validation_failed')
  if (route.access !== 'open')
    codes.push('unauthenticated', 'forbidden', 'too_many_attempts', 'identity_provider_unavailable')
  if (route.query || route.body || route.ifMatch || route.idempotent) codes.push('validation_failed')
  if (route.body) codes.push('malformed_json', 'body_too_large', 'unsupported_media_type')
  if (route.method !== 'GET') codes.push('foreign_origin')
  if (route.idempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused')
  if (route.fenced) codes.push('stale_leader', 'term_not_registered')
  if (route.fenced || route.ifMatch === 'required') codes.push('precondition_required')
  return codes
}

/** All problems of a route, in the order of PROBLEMS. */
export function problemsOf(route: RouteSpec): ProblemCode[] {
  const codes = new Set<string>([...route.problems, ...sharedProblemsOf(route)])
  return problemCodes().filter(code => codes.has(code))
}

export const problemCodes = (): ProblemCode[] => Object.keys(PROBLEMS) as ProblemCode[]

/** Example details, where the title is not enough. */
const DETAILS: { readonly [Code in ProblemCode]?: string } = {
  malformed_json: 'Unexpected end of JSON input',
  validation_failed: 'body.template_name: Too small: expected string to have >=1 characters',
  topology_invalid: 'line 12: nodes.3: the label r1 is used by node 0',
  port_node_unknown: 'port_template: unknown node r3; the lab has r1, r2',
  unauthenticated: 'send a bearer token, or open a link from lcm open',
  forbidden: 'ci has role user, which does not permit this',
  not_found: 'worker w-5k1r2m3n8pq4t not found',
  method_not_allowed: '/api/v1/workers supports GET, POST, not PUT',
  already_exists: 'template metal exists already',
  stale_leader: 'epoch 6 of worker-controller is over: worker-controller-2 leads with epoch 7',
  worker_not_terminated: 'training-1 is RUNNING; terminate it first',
  worker_protected: 'training-1 is protected; PATCH it with {"protected": false} first',
  worker_terminating: 'training-1 is being terminated, which cannot be undone; create a new worker',
  version_mismatch: 'the current version is 5, not 4: read it again',
  definition_not_found: 'definition bgp-basiks not found',
  timeslot_invalid: '90 min is longer than the 60 min that bgp-basics allows',
  region_not_configured: 'region us-west-1 is not configured; use one of us-east-1, eu-west-1',
  template_disabled: 'template metal is disabled',
  template_not_found: 'template metla not found',
}

export function problemExample(code: ProblemCode): Problem {
  const { status, title } = PROBLEMS[code]
  const detail = DETAILS[code] ?? title
  const problem = { type: `/api/docs#${code}`, title, status, detail, code, instance: `${API_PREFIX}/workers` }
  if (code === 'topology_invalid')
    return {
      ...problem,
      errors: [{ path: 'body.topology.nodes.3', message: 'the label r1 is used by node 0', line: 12 }],
    }
  if (code !== 'validation_failed') return problem
  const [path = '', ...message] = detail.split(': ')
  return { ...problem, errors: [{ path, message: message.join(': ') }] }
}

export const problemExamples = (): Record<string, Example> =>
  Object.fromEntries(problemCodes().map(code => [code, { summary: PROBLEMS[code].title, value: problemExample(code) }]))

const RETRYABLE: ReadonlySet<ProblemCode> = new Set([
  'rate_limited',
  'too_many_attempts',
  'idempotency_in_progress',
  'identity_provider_unavailable',
])

/** Responses are named after their codes, such as `forbidden.foreign_origin`, because many operations share them. */
export interface ProblemAnswers {
  /** By status. */
  readonly references: Readonly<Record<string, Reference>>
  readonly components: Readonly<Record<string, Answer>>
}

export function problemAnswers(route: RouteSpec): ProblemAnswers {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = PROBLEMS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const named = [...byStatus].map(([status, codes]) => ({ status, codes, name: codes.join('.') }))
  return {
    references: Object.fromEntries(
      named.map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
    ),
    components: Object.fromEntries(named.map(({ status, codes, name }) => [name, problemAnswer(status, codes)])),
  }
}

/** Headers that help the caller recover. */
function headersOf(status: number, codes: readonly ProblemCode[]): HeaderName[] {
  if (status === 401) return ['WWW-Authenticate']
  if (status === 405) return ['Allow']
  return codes.some(code => RETRYABLE.has(code)) ? ['Retry-After'] : []
}

function problemAnswer(status: number, codes: readonly ProblemCode[]): Answer {
  const description = codes.map(code => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ')
  const examples = codes.map(code => [code, { $ref: `#/components/examples/${code}` }])
  const headers = headersOf(status, codes)
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: headerReferences(headers) }),
    content: {
      [PROBLEM_MEDIA_TYPE]: {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(examples),
      },
    },
  }
}

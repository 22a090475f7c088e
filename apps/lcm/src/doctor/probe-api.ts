import { UnreachableError } from '@lcm/client/client'
import { Info } from '@lcm/contract/administration'
import type { ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { API_PREFIX } from '@lcm/contract/routes'
import { Reason, textReason } from '@lcm/domain/reason'
import type { Clock } from '@lcm/runtime/clock'
import type { Target } from '../cli/connection.ts'
import type { ApiFacts, Skew } from './judge-api.ts'

interface Asked {
  readonly target: Target
  readonly dispatch: Dispatch
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Reads /info, /ready and /health. Never rejects because of API errors. */
export async function probeApi({ target, dispatch, clock, signal }: Asked): Promise<ApiFacts> {
  const { url, token, advice } = target
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const get = (path: string) => dispatch({ method: 'GET', url: path, headers, body: null, signal })
  const known = { url, hasToken: token !== null }
  try {
    const askedMs = clock.now()
    const answer = await get(`${API_PREFIX}/info`)
    const skew = skewOf(answer, askedMs, clock.now())
    const [ready, health] = await Promise.all([get('/ready').catch(() => null), get('/health').catch(() => null)])
    return {
      ...known,
      answer: answerOf(answer, target),
      skew,
      waitsFor: waitsForIn(ready),
      problems: problemsIn(health),
    }
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    const message = error.advice === null ? `LCM does not respond at ${url} (${causeOf(error)})` : error.message
    const answer = { kind: 'unreachable', message, advice: error.advice ?? advice } as const
    return { ...known, answer, skew: null, waitsFor: null, problems: [] }
  }
}

function causeOf(error: Error): string {
  let cause: unknown = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  if (!(cause instanceof Error)) return String(cause)
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}

function answerOf({ status, body }: ApiResponse, { url, advice }: Target): ApiFacts['answer'] {
  const content = parsed(body)
  if (status === 200) {
    const info = Info.safeParse(content)
    if (info.success) return { kind: 'known', info: info.data }
  }
  const detail = wordIn(content, 'detail')
  if (status >= 400 && wordIn(content, 'code') !== null) return { kind: 'refused', status, detail: detail ?? '' }
  return { kind: 'unreachable', message: `the server at ${url} is not an LCM API`, advice }
}

function parsed(body: ApiResponse['body']): unknown {
  try {
    return typeof body === 'string' ? JSON.parse(body) : null
  } catch {
    return null
  }
}

const fieldIn = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : null

function wordIn(value: unknown, name: string): string | null {
  const found = fieldIn(value, name)
  return typeof found === 'string' ? found : null
}

/** Problems in a health response; an unhealthy response without named problems still counts as one. */
function problemsIn(health: ApiResponse | null): readonly Reason[] {
  const content = health === null ? null : parsed(health.body)
  const status = wordIn(content, 'status')
  if (status === null || status === 'healthy') return []
  const named = fieldIn(content, 'problems')
  const problems = Array.isArray(named) ? named.flatMap(each => Reason.safeParse(each).data ?? []) : []
  return problems.length > 0 ? problems : [textReason(`the health of the API is ${status}`)]
}

const HALF_SECOND_MS = 500

/** Estimates the clock difference from the date header, which has a resolution of one second. */
function skewOf({ headers }: ApiResponse, askedMs: number, heardMs: number): Skew | null {
  const thereMs = Date.parse(headers.date ?? '')
  if (Number.isNaN(thereMs)) return null
  const ms = thereMs + HALF_SECOND_MS - (askedMs + heardMs) / 2
  return { ms, uncertaintyMs: HALF_SECOND_MS + (heardMs - askedMs) / 2 }
}

const waitsForIn = (ready: ApiResponse | null): string | null =>
  ready === null || ready.status !== 503 ? null : (wordIn(parsed(ready.body), 'waits_for') ?? 'an unnamed dependency')

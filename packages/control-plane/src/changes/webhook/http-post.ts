import { readInstant, toMs } from '@lcm/domain/instant'
import { linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/** A slower receiver is retried later. */
const ANSWER_MS_MAX = 5_000

export type Delivery =
  | { readonly outcome: 'accepted' }
  /** The receiver will never accept it. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Worth a retry, not before `retryAfterMs` if the receiver names it. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly retryAfterMs?: number }

export interface HttpPost {
  readonly fetch: typeof fetch
  readonly clock: Clock
}

interface PostRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One delivery attempt. It never rejects, and its reasons hold nothing of the URL. */
export async function httpPost(
  { fetch, clock }: HttpPost,
  { url, headers, body }: PostRequest,
  signal: AbortSignal,
): Promise<Delivery> {
  const attempt = linkedAbort(signal)
  const cancel = clock.after(ANSWER_MS_MAX, () => attempt.abort())
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: attempt.signal })
    response.body?.cancel().catch(() => undefined)
    return deliveryOf(response, clock.now())
  } catch (error) {
    const late = `no answer within ${ANSWER_MS_MAX / 1000} s`
    return { outcome: 'failed', reason: attempt.signal.aborted ? late : codeOf(error) }
  } finally {
    cancel()
    attempt.unlink()
  }
}

function deliveryOf({ status, headers }: Response, nowMs: number): Delivery {
  if (status >= 200 && status < 300) return { outcome: 'accepted' }
  const reason = `status ${status}`
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) return { outcome: 'refused', reason }
  const retryAfterMs = readRetryAfter(headers.get('retry-after'), nowMs)
  return { outcome: 'failed', reason, ...(retryAfterMs === null ? {} : { retryAfterMs }) }
}

/** Seconds or a date. */
function readRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = readInstant(text)
  return at === null ? null : Math.max(0, toMs(at) - nowMs)
}

export const NOT_PUBLIC = 'its address is not public; list its host in LCM_OUTBOUND_PRIVATE_HOSTS to allow it'

/** The code alone, such as ECONNREFUSED: messages of network errors may quote the URL. */
export function codeOf(error: unknown): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z0-9_]+$/.test(cause.code))
      return cause.code === 'ADDRESS_REFUSED' ? NOT_PUBLIC : cause.code
  return 'the connection failed'
}

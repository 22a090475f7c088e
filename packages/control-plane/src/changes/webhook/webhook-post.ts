import { linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

const CLOUD_EVENT_MEDIA_TYPE = 'application/cloudevents+json'

/** A slower receiver is retried later. */
const ANSWER_MS_MAX = 5_000

export interface WebhookSetting {
  /** May hold credentials in any part, so only its host is logged. */
  readonly url: string
  /** Sent as a bearer token; it overrides credentials in the URL. */
  readonly token: string | null
  /** CloudEvents source, such as `/lcm/<fleet>`. */
  readonly source: string
  readonly fetch: typeof fetch
}

export type Delivery =
  | { readonly outcome: 'accepted' }
  /** The receiver will never accept it. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Worth a retry. */
  | { readonly outcome: 'failed'; readonly reason: string }

export type Post = (body: string, signal: AbortSignal) => Promise<Delivery>

/** One delivery attempt. It never rejects, and its reasons hold nothing of the URL. */
export function webhookPost({ url, token, fetch }: WebhookSetting, clock: Clock): Post {
  const target = new URL(url)
  const headers = { 'content-type': CLOUD_EVENT_MEDIA_TYPE, ...authorization(target, token) }
  // Requests must not carry credentials in their URL.
  target.username = ''
  target.password = ''
  return async (body, signal) => {
    const attempt = linkedAbort(signal)
    const cancel = clock.after(ANSWER_MS_MAX, () => attempt.abort())
    try {
      const request = { method: 'POST', headers, body, redirect: 'manual', signal: attempt.signal } as const
      const response = await fetch(target, request)
      response.body?.cancel().catch(() => undefined)
      return deliveryOf(response.status)
    } catch (error) {
      const late = `no answer within ${ANSWER_MS_MAX / 1000} s`
      return { outcome: 'failed', reason: attempt.signal.aborted ? late : codeOf(error) }
    } finally {
      cancel()
      attempt.unlink()
    }
  }
}

function authorization({ username, password }: URL, token: string | null): Record<string, string> {
  if (token !== null) return { authorization: `Bearer ${token}` }
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** Keeps a lone percent sign as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function deliveryOf(status: number): Delivery {
  if (status >= 200 && status < 300) return { outcome: 'accepted' }
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429
  return { outcome: isFinal ? 'refused' : 'failed', reason: `status ${status}` }
}

const NOT_PUBLIC = 'its address is not public; list its host in LCM_OUTBOUND_PRIVATE_HOSTS to allow it'

/** The code alone, such as ECONNREFUSED: messages of network errors may quote the URL. */
function codeOf(error: unknown): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z0-9_]+$/.test(cause.code))
      return cause.code === 'ADDRESS_REFUSED' ? NOT_PUBLIC : cause.code
  return 'the connection failed'
}

import type { Clock } from '@lcm/runtime/clock'
import { type Delivery, httpPost } from './http-post.ts'

export const CLOUD_EVENT_MEDIA_TYPE = 'application/cloudevents+json'

export interface WebhookSetting {
  /** May hold credentials in any part, so only its host is logged. */
  readonly url: string
  /** Sent as a bearer token; it overrides credentials in the URL. */
  readonly token: string | null
  /** CloudEvents source, such as `/lcm/<fleet>`. */
  readonly source: string
  readonly fetch: typeof fetch
}

export type Post = (body: string, signal: AbortSignal) => Promise<Delivery>

export function webhookPost({ url, token, fetch }: WebhookSetting, clock: Clock): Post {
  const { target, authorization } = addressOf(url, token)
  const headers = { 'content-type': CLOUD_EVENT_MEDIA_TYPE, ...authorization }
  return (body, signal) => httpPost({ fetch, clock }, { url: target, headers, body }, signal)
}

/** Requests must not carry credentials in their URL, so they become a header. */
export function addressOf(url: string, token: string | null) {
  const target = new URL(url)
  const authorization = authorizationOf(target, token)
  target.username = ''
  target.password = ''
  return { target, authorization }
}

function authorizationOf({ username, password }: URL, token: string | null): Record<string, string> {
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

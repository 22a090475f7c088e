import { createHmac } from 'node:crypto'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { Message } from '@lcm/domain/notification/notification-target'
import { type EmailText, emailText, slackBody } from '@lcm/domain/text/notification-formats'
import type { Api } from '../../api-context.ts'
import { type Delivery, httpPost } from '../../changes/webhook/http-post.ts'
import { addressOf, CLOUD_EVENT_MEDIA_TYPE } from '../../changes/webhook/webhook-post.ts'
import type { StoredTarget } from '../../internal-documents.ts'
import { openSecret } from '../secret/secrets-and-licenses.ts'

export interface Email extends EmailText {
  readonly to: readonly string[]
  /** The same for every attempt, so that mail systems can recognize a repeated one. */
  readonly id: string
}

export interface NotificationSetting {
  /** CloudEvents source, such as `/lcm/<fleet>`. */
  readonly source: string
  readonly fetch: typeof fetch
  /** Null without an SMTP server. It never rejects. */
  readonly sendEmail: ((email: Email, signal: AbortSignal) => Promise<Delivery>) | null
}

interface Outgoing {
  readonly id: string
  readonly at: Instant
  readonly message: Message
  /** Email addresses; unused by other types. */
  readonly to: readonly string[]
}

/** The sealed part of a target. */
export interface TargetAddress {
  readonly url: string
  readonly signing_key: string | null
}

export const addressSecretOf = (id: string) =>
  ({ resource: `notification_target:${id}`, purpose: 'target_address' }) as const

/** Null if it has none, or if no key opens it. */
export async function openAddress(api: Api, { id, secret_refs }: StoredTarget): Promise<TargetAddress | null> {
  const text = await openSecret(api, addressSecretOf(id), secret_refs.target_address)
  return text === null ? null : JSON.parse(text)
}

/** One attempt to deliver a message to a target. */
export async function sendMessage(
  api: Api,
  setting: NotificationSetting,
  { target, outgoing }: { target: StoredTarget; outgoing: Outgoing },
  signal: AbortSignal,
): Promise<Delivery> {
  if (target.type === 'email') return sendEmail(setting, outgoing, signal)
  const address = await openAddress(api, target)
  if (address === null) return failed('its address can not be opened; set its url again')
  const request = requestTo(target.type, address, outgoing, setting.source)
  return httpPost({ fetch: setting.fetch, clock: api.clock }, request, signal)
}

const failed = (reason: string): Delivery => ({ outcome: 'failed', reason })

async function sendEmail(
  setting: NotificationSetting,
  { id, message, to }: Outgoing,
  signal: AbortSignal,
): Promise<Delivery> {
  if (to.length === 0) return { outcome: 'refused', reason: 'the owner has no email address' }
  if (setting.sendEmail === null) return failed('LCM_SMTP_URL is not set')
  return setting.sendEmail({ ...emailText(message), to, id }, signal)
}

function requestTo(type: 'webhook' | 'slack', { url, signing_key }: TargetAddress, outgoing: Outgoing, source: string) {
  const { target, authorization } = addressOf(url, null)
  if (type === 'slack') {
    const headers = { 'content-type': 'application/json', ...authorization }
    return { url: target, headers, body: JSON.stringify(slackBody(outgoing.message)) }
  }
  const body = JSON.stringify(cloudEventOf(outgoing, source))
  const signature = signing_key === null ? {} : signatureOf(signing_key, outgoing, body)
  return { url: target, headers: { 'content-type': CLOUD_EVENT_MEDIA_TYPE, ...authorization, ...signature }, body }
}

/** CloudEvents 1.0, structured. Its id stays the same when it is sent again. */
const cloudEventOf = ({ id, at, message }: Outgoing, source: string) => ({
  specversion: '1.0',
  id,
  source,
  type: `io.lablet.notification.${message.kind}`,
  subject: message.subjects[0] ?? 'test',
  time: at,
  datacontenttype: 'application/json',
  data: message,
})

/** The headers of Standard Webhooks. The time is that of the notification, so that a repeated request is the same. */
function signatureOf(key: string, { id, at }: Outgoing, body: string): Record<string, string> {
  const timestamp = String(Math.floor(toMs(at) / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

import { toInstant, toMs } from '@lcm/domain/instant'
import { Message } from '@lcm/domain/notification/notification-target'
import { exponentialBackoff, type Logger } from '@lcm/runtime'
import type { Api } from '../../api-context.ts'
import type { Delivery } from '../../changes/webhook/http-post.ts'
import type { StoredNotification, StoredTarget } from '../../internal-documents.ts'
import { QUEUE_MAX } from './queries.ts'
import { type NotificationSetting, sendMessage } from './send-message.ts'
import { recordHealth } from './target-health.ts'

/** Attempts over about six hours. */
const ATTEMPTS_MAX = 14
const backoff = exponentialBackoff({ baseMs: 10_000, maxMs: 60 * 60_000 })
const RETRY_AFTER_MS_MAX = 6 * 60 * 60_000
const REASON_CHARS_MAX = 300

export type Outcome = 'delivered' | 'failed' | 'dead' | 'dropped' | 'no_address'

interface DeliveryParts {
  readonly api: Api
  readonly setting: NotificationSetting
  readonly log: Logger
  readonly count: (type: StoredTarget['type'], outcome: Outcome) => void
  readonly signal: AbortSignal
}

export interface Deliveries {
  /** Starts to deliver what is due, to each target on its own: one that hangs delays no other. */
  start(targets: readonly StoredTarget[]): void
  /** Resolves once no delivery is under way. */
  ended(): Promise<void>
}

export function deliveries(parts: DeliveryParts): Deliveries {
  const running = new Map<string, Promise<void>>()
  return {
    start(targets) {
      for (const target of targets) {
        if (running.has(target.id)) continue
        const pass = deliverDue(parts, target)
          .catch(err => parts.log.warn({ err, target: target.name }, 'delivering notifications failed; retrying'))
          .finally(() => running.delete(target.id))
        running.set(target.id, pass)
      }
    },
    ended: async () => void (await Promise.all(running.values())),
  }
}

/** Oldest first. After a failure the others wait for the next pass, because they are likely to fail too. */
async function deliverDue({ api, signal, ...parts }: DeliveryParts, target: StoredTarget): Promise<void> {
  const waiting = await api.notifications.list({ where: { queue: target.id }, limit: QUEUE_MAX })
  for (const notification of waiting) {
    if (signal.aborted) return
    if (toMs(notification.next_attempt_at) > api.clock.now()) continue
    const delivery = await attempt({ api, signal, ...parts }, target, notification)
    if (signal.aborted && delivery.outcome !== 'accepted') return
    await record({ api, signal, ...parts }, notification, delivery)
    if (delivery.outcome === 'failed') return
  }
}

async function attempt(
  { api, setting, signal }: DeliveryParts,
  target: StoredTarget,
  notification: StoredNotification,
): Promise<Delivery> {
  const { id, owner, created_at: at } = notification
  const email = owner === null ? null : (await api.people.get(owner))?.email
  const to = owner === null ? target.to : email ? [email] : []
  return sendMessage(api, setting, { target, outgoing: { id, at, to, message: Message.parse(notification) } }, signal)
}

/** A notification that was deleted meanwhile stays so. */
async function record(
  { api, count, log }: DeliveryParts,
  notification: StoredNotification,
  delivery: Delivery,
): Promise<void> {
  const next = afterAttempt(notification, delivery, api.clock.now())
  await api.notifications.replace(next)
  await recordHealth(api, notification.target_id, delivery)
  const { target_type, target_name, id } = notification
  if (delivery.outcome === 'accepted') return count(target_type, 'delivered')
  count(target_type, next.status === 'DEAD' ? 'dead' : 'failed')
  log.warn(
    { target: target_name, id, reason: delivery.reason },
    next.status === 'DEAD' ? 'a notification was given up' : 'the delivery of a notification failed; retrying',
  )
}

function afterAttempt(notification: StoredNotification, delivery: Delivery, nowMs: number): StoredNotification {
  const now = toInstant(nowMs)
  const attempts = notification.attempts + 1
  const next = { ...notification, version: notification.version + 1, updated_at: now, attempts }
  if (delivery.outcome === 'accepted') return { ...next, status: 'DELIVERED', delivered_at: now, last_error: null }
  const failed = { ...next, last_error: delivery.reason.slice(0, REASON_CHARS_MAX) }
  if (delivery.outcome === 'refused' || attempts >= ATTEMPTS_MAX) return { ...failed, status: 'DEAD' }
  const retryMs = Math.max(backoff(attempts - 1), Math.min(delivery.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX))
  return { ...failed, next_attempt_at: toInstant(nowMs + retryMs) }
}

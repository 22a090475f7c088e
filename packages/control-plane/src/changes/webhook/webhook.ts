import type { EventEnvelope } from '@lcm/contract/events'
import { exponentialBackoff, type HostedService, type Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { PositionedChange } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { eventOf } from '../events.ts'
import { type FeedLease, feedLease, RENEW_MS } from '../feed/feed-lease.ts'
import { followChanges } from '../feed/follow-changes.ts'
import { type Post, type WebhookSetting, webhookPost } from './webhook-post.ts'

/** Interval at which a standby replica tries to acquire the lease. */
const STANDBY_MS = 5_000
const TROUBLE_MS = 1_000
const backoff = exponentialBackoff({ maxMs: 5 * 60_000 })

interface Sender {
  readonly clock: Clock
  readonly log: Logger
  readonly post: Post
  readonly lease: FeedLease
}

/**
 * Delivers every change to the operator's receiver: one at a time, in order, at least once, from one replica. It reads changes
 * at its own pace, so that a slow or unreachable receiver delays nothing else.
 */
export function webhook(api: Api, setting: WebhookSetting, logger: Logger): HostedService {
  const { clock, feed, store } = api
  const log = logger.child({ webhook: new URL(setting.url).host })
  const holder = Buffer.from(api.randomBytes(8)).toString('hex')
  const lease = feedLease({ id: 'webhook', store, feed, clock, holder })
  const sender = { clock, log, lease, post: webhookPost(setting, clock) }

  /** False when this replica has lost the lease, or stops. */
  async function deliverChange(change: PositionedChange, before: string, signal: AbortSignal): Promise<boolean> {
    const event = await eventOf(api, change)
    if (event === null) return lease.renew(change.position)
    const cloudEvent = cloudEventOf(event, change, setting.source)
    return (await deliver(sender, { cloudEvent, before }, signal)) && lease.save(change.position)
  }

  async function deliverAll(from: string, signal: AbortSignal): Promise<void> {
    let position = from
    for await (const followed of followChanges(feed, from, { clock, signal, idleMs: RENEW_MS })) {
      if (followed.kind === 'change') {
        if (!(await deliverChange(followed.change, position, signal))) return
        position = followed.change.position
      } else if (followed.kind === 'reset') {
        position = await feed.position()
        log.warn({ position }, 'changes expired before their delivery to the webhook; it continues from now')
        if (!(await lease.save(position))) return
      } else if (!(await lease.renew(position))) return
    }
  }

  async function deliverWithLease(signal: AbortSignal): Promise<void> {
    const from = await lease.acquire()
    if (from === null) await clock.sleep(STANDBY_MS, signal)
    else await deliverAll(from, signal)
  }

  return {
    name: 'webhook',
    async run(signal) {
      while (!signal.aborted) {
        try {
          await deliverWithLease(signal)
        } catch (err) {
          log.warn({ err }, 'reading changes for the webhook failed; retrying')
          await clock.sleep(TROUBLE_MS, signal)
        }
      }
      await lease.release().catch(() => undefined)
    },
  }
}

interface Delivery {
  readonly cloudEvent: ReturnType<typeof cloudEventOf>
  /** Position before it. */
  readonly before: string
}

/** Retries until the receiver accepts or refuses it. False when this replica loses the lease, or stops. */
async function deliver(sender: Sender, { cloudEvent, before }: Delivery, signal: AbortSignal): Promise<boolean> {
  const { log, post, lease } = sender
  const body = JSON.stringify(cloudEvent)
  const { id, type, subject } = cloudEvent
  for (let retries = 0; !signal.aborted && (await lease.renew(before)); retries += 1) {
    const delivery = await post(body, signal)
    if (delivery.outcome === 'accepted') return true
    const about = { reason: delivery.reason, id, type, subject }
    if (delivery.outcome === 'refused') {
      log.warn(about, 'the webhook refused an event; the event is dropped')
      return true
    }
    if (signal.aborted) return false
    const retryMs = backoff(retries)
    log.warn({ ...about, retry_in_ms: retryMs }, 'the delivery of an event to the webhook failed; retrying')
    await waitWithLease(sender, retryMs, before, signal)
  }
  return false
}

/** Waits, and renews the lease meanwhile. */
async function waitWithLease(
  { clock, lease }: Sender,
  ms: number,
  position: string,
  signal: AbortSignal,
): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= RENEW_MS) {
    await clock.sleep(Math.min(left, RENEW_MS), signal)
    if (!(await lease.renew(position))) return
  }
}

/** CloudEvents 1.0, structured. Its id is the position, so that the receiver can recognize a duplicate. */
export const cloudEventOf = (event: EventEnvelope, change: PositionedChange, source: string) => ({
  specversion: '1.0',
  id: change.position,
  source,
  type: `io.lablet.${event.type}`,
  subject: change.id,
  time: event.at,
  datacontenttype: 'application/json',
  data: 'data' in event ? event.data : null,
})

import type { EventEnvelope } from '@lcm/contract/events'
import { exponentialBackoff, type HostedService, type Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { PositionedChange } from '@lcm/store/store'
import type { Api } from '../../http/api.ts'
import { eventOf } from '../events.ts'
import { followChanges } from '../feed/follow-changes.ts'
import { RENEW_MS, type WebhookLease, webhookLease } from './webhook-lease.ts'
import { type Post, type WebhookSetting, webhookPost } from './webhook-post.ts'

/** Interval at which a standby replica tries to acquire the lease. */
const STANDBY_MS = 5_000
const TROUBLE_MS = 1_000
const backoff = exponentialBackoff({ maxMs: 5 * 60_000 })

interface Telling {
  readonly clock: Clock
  readonly log: Logger
  readonly post: Post
  readonly turn: WebhookLease
}

/**
 * Delivers every change to the operator's receiver: one at a time, in order, at least once, from one replica. It reads changes
 * at its own pace, so that a slow or unreachable receiver delays nothing else.
 */
export function webhook(api: Api, setting: WebhookSetting, logger: Logger): HostedService {
  const { clock, feed, store } = api
  const log = logger.child({ webhook: new URL(setting.url).host })
  const holder = Buffer.from(api.randomBytes(8)).toString('hex')
  const turn = webhookLease({ store, feed, clock, holder })
  const telling = { clock, log, turn, post: webhookPost(setting, clock) }

  /** False when this replica has lost the lease, or stops. */
  async function tell(change: PositionedChange, before: string, signal: AbortSignal): Promise<boolean> {
    const event = await eventOf(api, change)
    if (event === null) return turn.renew(change.position)
    const cloudEvent = cloudEventOf(event, change, setting.source)
    return (await deliver(telling, { cloudEvent, before }, signal)) && turn.save(change.position)
  }

  async function tellAll(from: string, signal: AbortSignal): Promise<void> {
    let position = from
    for await (const followed of followChanges(feed, from, { clock, signal, idleMs: RENEW_MS })) {
      if (followed.kind === 'change') {
        if (!(await tell(followed.change, position, signal))) return
        position = followed.change.position
      } else if (followed.kind === 'reset') {
        position = await feed.position()
        log.warn({ position }, 'changes were forgotten before the webhook was told of them; it goes on from now')
        if (!(await turn.save(position))) return
      } else if (!(await turn.renew(position))) return
    }
  }

  async function takeTurn(signal: AbortSignal): Promise<void> {
    const from = await turn.acquire()
    if (from === null) await clock.sleep(STANDBY_MS, signal)
    else await tellAll(from, signal)
  }

  return {
    name: 'webhook',
    async run(signal) {
      while (!signal.aborted) {
        try {
          await takeTurn(signal)
        } catch (err) {
          log.warn({ err }, 'changes could not be read for the webhook; trying again')
          await clock.sleep(TROUBLE_MS, signal)
        }
      }
      await turn.release().catch(() => undefined)
    },
  }
}

interface InHand {
  readonly cloudEvent: ReturnType<typeof cloudEventOf>
  /** Position before it. */
  readonly before: string
}

/** Retries until the receiver accepts or refuses it. False when this replica loses the lease, or stops. */
async function deliver(telling: Telling, { cloudEvent, before }: InHand, signal: AbortSignal): Promise<boolean> {
  const { log, post, turn } = telling
  const body = JSON.stringify(cloudEvent)
  const { id, type, subject } = cloudEvent
  for (let retries = 0; !signal.aborted && (await turn.renew(before)); retries += 1) {
    const delivery = await post(body, signal)
    if (delivery.outcome === 'taken') return true
    const about = { reason: delivery.reason, id, type, subject }
    if (delivery.outcome === 'refused') {
      log.warn(about, 'the webhook refused an event, which is dropped')
      return true
    }
    if (signal.aborted) return false
    const againMs = backoff(retries)
    log.warn({ ...about, again_in_ms: againMs }, 'the webhook did not take an event; trying again')
    await patience(telling, againMs, before, signal)
  }
  return false
}

/** Waits, and renews the lease meanwhile. */
async function patience({ clock, turn }: Telling, ms: number, position: string, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= RENEW_MS) {
    await clock.sleep(Math.min(left, RENEW_MS), signal)
    if (!(await turn.renew(position))) return
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

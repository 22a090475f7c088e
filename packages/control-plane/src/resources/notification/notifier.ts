import { toInstant } from '@lcm/domain/instant'
import {
  type Draft,
  decideNotifications,
  noteSent,
  nothingSent,
  type Sent,
} from '@lcm/domain/notification/decide-notifications'
import { subjectKey } from '@lcm/domain/notification/notice'
import { notificationMessage } from '@lcm/domain/text/notification-message'
import { type HostedService, type LinkedAbort, type Logger, linkedAbort } from '@lcm/runtime'
import type { Api } from '../../api-context.ts'
import { type FeedLease, feedLease } from '../../changes/feed/feed-lease.ts'
import { followChanges } from '../../changes/feed/follow-changes.ts'
import type { StoredNotification, StoredTarget } from '../../internal-documents.ts'
import { newId } from '../ids.ts'
import { listAll, pagesOf } from '../list-documents.ts'
import { type Deliveries, deliveries, type Outcome } from './deliver-notifications.ts'
import { type KnownSubjects, knownSubjects } from './known-subjects.ts'
import { QUEUE_MAX } from './queries.ts'
import type { NotificationSetting } from './send-message.ts'

const TICK_MS = 5_000
const TROUBLE_MS = 1_000
/** After this time what was sent is read again, so that memory holds no more than the store. */
const TERM_MS = 24 * 60 * 60_000

interface Notifier {
  readonly service: HostedService
  /** Outcomes of this replica in Prometheus text format. */
  metrics(): string
}

interface NotifierParts {
  readonly api: Api
  readonly setting: NotificationSetting
  readonly publicUrl: string | null
  readonly log: Logger
}

interface Term extends NotifierParts {
  readonly lease: FeedLease
  readonly known: KnownSubjects
  /** What each target was sent, by its id. */
  readonly sent: Map<string, Sent>
  readonly deliveries: Deliveries
  readonly count: (type: StoredTarget['type'], outcome: Outcome) => void
}

/**
 * Tells every target what it wants to know, from one replica at a time. Stored notifications say what was sent, so that another
 * replica continues where this one dies; only a delivery whose answer was lost is repeated.
 */
export function notifier(parts: NotifierParts): Notifier {
  const { api, log } = parts
  const { clock, feed, store } = api
  const holder = Buffer.from(api.randomBytes(8)).toString('hex')
  const lease = feedLease({ id: 'notifications', store, feed, clock, holder })
  const outcomes = new Map<string, number>()
  const count = (type: StoredTarget['type'], outcome: Outcome): void => {
    const labels = `{target_type="${type}",outcome="${outcome}"}`
    outcomes.set(labels, (outcomes.get(labels) ?? 0) + 1)
  }

  async function leadOrWait(signal: AbortSignal): Promise<void> {
    const hasTargets = (await api.notificationTargets.list({ limit: 1 })).length > 0
    if (!hasTargets || (await lease.acquire()) === null) return clock.sleep(TICK_MS, signal)
    const leading = linkedAbort(signal)
    const sending = deliveries({ ...parts, count, signal: leading.signal })
    try {
      const sent = await readSent(api)
      await follow({ ...parts, lease, known: knownSubjects(api), sent, deliveries: sending, count }, leading)
    } finally {
      leading.abort()
      await sending.ended()
      leading.unlink()
    }
  }

  return {
    service: {
      name: 'notifier',
      async run(signal) {
        while (!signal.aborted) {
          try {
            await leadOrWait(signal)
          } catch (err) {
            log.warn({ err }, 'preparing notifications failed; retrying')
            await clock.sleep(TROUBLE_MS, signal)
          }
        }
        await lease.release().catch(() => undefined)
      },
    },
    metrics() {
      const lines = [...outcomes].map(([labels, value]) => `lcm_notifications_total${labels} ${value}\n`)
      const head = '# HELP lcm_notifications_total attempts to deliver notifications, by outcome\n'
      return `${head}# TYPE lcm_notifications_total counter\n${lines.join('')}`
    },
  }
}

async function readSent(api: Api): Promise<Map<string, Sent>> {
  const sent = new Map<string, Sent>()
  for await (const page of pagesOf(api.notifications)) {
    for (const notification of page) noteSent(sentOf(sent, notification.target_id), notification)
    await api.clock.sleep(0)
  }
  return sent
}

function sentOf(all: Map<string, Sent>, targetId: string): Sent {
  const sent = all.get(targetId) ?? nothingSent()
  all.set(targetId, sent)
  return sent
}

/** Every commit wakes the reader, so that a busy store does not delay what is due by time. */
const onOtherWake = () => () => undefined

/** The records say what is news, so changes are followed from now on: a long backlog costs nothing. */
async function follow(term: Term, { signal }: LinkedAbort): Promise<void> {
  const { api, known, lease } = term
  const { clock, feed } = api
  let position = await feed.position()
  await known.readAll()
  const endsAt = clock.monotonic() + TERM_MS
  let decidedAt = Number.NEGATIVE_INFINITY
  for await (const item of followChanges(feed, position, { clock, signal, idleMs: TICK_MS, onOtherWake })) {
    if (item.kind === 'change') {
      await known.read(item.change)
      position = item.change.position
    } else if (item.kind === 'reset') {
      position = await feed.position()
      await known.readAll()
    }
    if (clock.monotonic() - decidedAt < TICK_MS) continue
    decidedAt = clock.monotonic()
    if (decidedAt >= endsAt) return
    if (!(await lease.renew(position)) || !(await notifyAll(term))) return
  }
}

/** False when another replica has taken over, or without targets. */
async function notifyAll(term: Term): Promise<boolean> {
  const { api, known } = term
  const targets = await listAll(api.notificationTargets)
  await known.readLeaks()
  await known.readWarnings()
  for (const target of targets) {
    // Thousands of sessions are compared at once: requests come in between.
    await api.clock.sleep(0)
    const sent = sentOf(term.sent, target.id)
    const drafts = decideNotifications({ target, subjects: known.all(), sent, nowMs: api.clock.now() })
    if (drafts.length > 0 && !(await queueAll(term, target, drafts))) return false
  }
  known.forgetOver()
  term.deliveries.start(targets)
  return targets.length > 0
}

async function queueAll(term: Term, target: StoredTarget, drafts: readonly Draft[]): Promise<boolean> {
  const { api, log, count } = term
  const sent = sentOf(term.sent, target.id)
  let queued = (await api.notifications.list({ where: { queue: target.id }, limit: QUEUE_MAX })).length
  for (const draft of drafts) {
    const notification = notificationOf(term, target, draft)
    if (queued >= QUEUE_MAX) {
      count(target.type, 'dropped')
      log.warn({ target: target.name, kind: draft.kind }, 'the queue of a notification target is full; dropped')
    } else if (draft.owner === null || (await api.people.get(draft.owner))?.email) {
      // Another replica that writes the same one has taken over.
      if (!(await api.notifications.insert(notification)).ok) return false
      // A deletion of the target that has not seen it leaves it here.
      if ((await api.notificationTargets.get(target.id)) === null) await api.notifications.remove(notification)
      queued += 1
    } else count(target.type, 'no_address')
    noteSent(sent, notification)
  }
  return true
}

function notificationOf({ api, publicUrl }: Term, target: StoredTarget, draft: Draft): StoredNotification {
  const nowMs = api.clock.now()
  const now = toInstant(nowMs)
  const { owner, notices, is_resolved } = draft
  return {
    id: newId(api, 'no'),
    version: 1,
    created_at: now,
    updated_at: now,
    target_id: target.id,
    target_name: target.name,
    target_type: target.type,
    owner,
    ...notificationMessage(draft, { publicUrl, nowMs }),
    status: 'QUEUED',
    attempts: 0,
    next_attempt_at: now,
    last_error: null,
    delivered_at: null,
    key: JSON.stringify([target.id, owner, is_resolved, notices[0]?.key]),
    notices: notices.map(({ key, subject, group, gravity }) => ({ key, subject: subjectKey(subject), group, gravity })),
  }
}

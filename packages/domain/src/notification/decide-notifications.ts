import { toMs } from '../instant.ts'
import { FAMILIES, type Family, type Notice, type Observed, type Subject, subjectKey } from './notice.ts'
import { type Notification, type NotificationKind, type NotificationTarget, SEVERITIES } from './notification-target.ts'

/** Notices of one group within this time become one notification, and a problem that is over before is not sent. */
export const FOLD_MS = 30_000
/** A problem is over once nothing was wrong for this long: what fails again meanwhile is the same problem. */
export const RESOLVED_MS = 2 * 60_000
/** An older event is no news. */
export const EVENT_MS_MAX = 24 * 60 * 60_000

const familyOf = (kind: NotificationKind): Family =>
  kind === 'capacity_short' ? 'capacity' : kind === 'session_at_risk' ? 'promise' : 'health'

/** A resource as it is now, with what it says since when. */
export interface KnownSubject extends Observed {
  readonly notices: readonly (Notice & { readonly seenAtMs: number })[]
  /** Since when it is well; null while it is not. */
  readonly clearSinceMs: Readonly<Record<Family, number | null>>
}

/** The subject after its record was read again. */
export function seen(before: KnownSubject | undefined, now: Observed, nowMs: number): KnownSubject {
  const known = new Map(before?.notices.map(({ key, seenAtMs }) => [key, seenAtMs]))
  const clearSince = (family: Family): number | null =>
    now.isWell[family] ? (before?.clearSinceMs[family] ?? nowMs) : null
  return {
    ...now,
    notices: now.notices.map(notice => ({ ...notice, seenAtMs: known.get(notice.key) ?? nowMs })),
    clearSinceMs: { health: clearSince('health'), capacity: clearSince('capacity'), promise: clearSince('promise') },
  }
}

/** A notice in a stored notification, so that no target gets it twice. */
export interface SentNotice {
  readonly key: string
  readonly subject: string
  readonly group: string
  readonly gravity: number
}

type Stored = Pick<Notification, 'owner' | 'kind' | 'created_at' | 'is_resolved'> & {
  readonly notices: readonly SentNotice[]
}

interface OpenProblem extends SentNotice {
  readonly kind: NotificationKind
  readonly sentAtMs: number
}

/** What one recipient was sent: notices, and the problems that are not resolved yet. */
interface SentTo {
  readonly keys: Set<string>
  readonly open: Map<string, OpenProblem>
}

/** What one target was sent, by owner; null for the addresses of the target. All sessions are looked up in it every few seconds. */
export type Sent = Map<string | null, SentTo>
export const nothingSent = (): Sent => new Map()

function sentTo(sent: Sent, owner: string | null): SentTo {
  const known = sent.get(owner) ?? { keys: new Set(), open: new Map() }
  sent.set(owner, known)
  return known
}

const openKey = (subject: string, family: Family): string => `${family} ${subject}`

/** Adds a stored notification, oldest first. */
export function noteSent(sent: Sent, { owner, kind, created_at, is_resolved, notices }: Stored): void {
  const { keys, open } = sentTo(sent, owner)
  for (const notice of notices) {
    keys.add(notice.key)
    const problem = openKey(notice.subject, familyOf(kind))
    if (is_resolved) open.delete(problem)
    else if (notice.gravity > 0) open.set(problem, { ...notice, kind, sentAtMs: toMs(created_at) })
    else if (kind === 'session_ready') for (const family of FAMILIES) open.delete(openKey(notice.subject, family))
  }
}

/** A notification to write, for one recipient of a target. */
export interface Draft {
  /** The owner that it is addressed to; null for the addresses of the target. */
  readonly owner: string | null
  readonly kind: NotificationKind
  readonly is_resolved: boolean
  readonly notices: readonly Notice[]
}

interface Asked {
  readonly target: NotificationTarget
  readonly subjects: Iterable<KnownSubject>
  readonly sent: Sent
  readonly nowMs: number
}

interface Group extends Draft {
  readonly notices: Notice[]
  isDue: boolean
}

/** Notifications that are due for a target: the notices of all resources, less those that it was sent. */
export function decideNotifications({ target, subjects, sent, nowMs }: Asked): Draft[] {
  const groups = new Map<string, Group>()
  const add = (draft: Omit<Draft, 'notices'>, notice: Notice, isDue: boolean): void => {
    const key = JSON.stringify([draft.owner, draft.is_resolved, notice.group])
    const group = groups.get(key) ?? { ...draft, notices: [], isDue: false }
    group.notices.push(notice)
    group.isDue ||= isDue
    groups.set(key, group)
  }
  for (const known of subjects) {
    if (!concerns(target, known.subject)) continue
    for (const owner of recipientsOf(target, known.subject)) {
      const judging = { target, sent: sentTo(sent, owner), nowMs }
      for (const notice of known.notices) {
        if (!isNews(judging, notice)) continue
        add({ owner, kind: notice.kind, is_resolved: false }, notice, notice.seenAtMs + FOLD_MS <= nowMs)
      }
      for (const { notice, clearMs } of resolvedOf(judging, known))
        add({ owner, kind: notice.kind, is_resolved: true }, notice, clearMs >= RESOLVED_MS)
    }
  }
  return [...groups.values()].filter(({ isDue }) => isDue).map(({ isDue: _, ...draft }) => draft)
}

/** Workers and licenses belong to no definition and no owner. */
function concerns({ definitions, owners }: NotificationTarget, subject: Subject): boolean {
  if (subject.kind !== 'session') return definitions.length === 0 && owners.length === 0
  const isListed = (list: readonly string[], value: string) => list.length === 0 || list.includes(value)
  return isListed(definitions, subject.definition) && isListed(owners, subject.owner)
}

function recipientsOf({ type, to, to_owner }: NotificationTarget, subject: Subject): (string | null)[] {
  if (type !== 'email') return [null]
  const owner = to_owner && subject.kind === 'session' ? [subject.owner] : []
  return to.length === 0 ? owner : [null, ...owner]
}

interface Judging extends Pick<Asked, 'target' | 'nowMs'> {
  /** What the recipient was sent. */
  readonly sent: SentTo
}

/** Whether the target wants it at all. */
const isWanted = ({ kinds, min_severity }: NotificationTarget, { kind, severity }: Notice): boolean =>
  (kinds.length === 0 || kinds.includes(kind)) && SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(min_severity)

function isNews({ target, sent, nowMs }: Judging, notice: Notice): boolean {
  if (!isWanted(target, notice) || notice.dueAtMs > nowMs || sent.keys.has(notice.key)) return false
  if (notice.gravity === 0) return isRecent(target, notice, nowMs)
  const open = sent.open.get(openKey(subjectKey(notice.subject), familyOf(notice.kind)))
  return open === undefined || notice.gravity > open.gravity
}

/** Events before the target was changed were not for it, but for those that may still be due; problems that last are. */
function isRecent({ updated_at }: NotificationTarget, { kind, at, subject }: Notice, nowMs: number): boolean {
  if (toMs(at) < toMs(updated_at) - 2 * FOLD_MS || nowMs - toMs(at) > EVENT_MS_MAX) return false
  return kind !== 'session_ends_soon' || subject.kind !== 'session' || nowMs < toMs(subject.end)
}

function* resolvedOf(
  { target, sent, nowMs }: Judging,
  { subject, notices, clearSinceMs, isOver }: KnownSubject,
): Iterable<{ readonly notice: Notice; readonly clearMs: number }> {
  if (isOver || sent.open.size === 0) return
  for (const family of FAMILIES) {
    const open = sent.open.get(openKey(subjectKey(subject), family))
    const since = clearSinceMs[family]
    if (open === undefined || since === null || nowMs - since < RESOLVED_MS - FOLD_MS) continue
    // A lab that is ready again says more than that the problem is over.
    const isReady = notices.some(
      each =>
        each.kind === 'session_ready' &&
        toMs(each.at) > open.sentAtMs &&
        isWanted(target, each) &&
        isRecent(target, each, nowMs),
    )
    if (isReady) continue
    const resolution = { key: `resolved ${open.key}`, group: `resolved ${open.group}`, kind: open.kind }
    yield { notice: { ...EVENT, ...resolution, subject, at: target.updated_at }, clearMs: nowMs - since }
  }
}

const EVENT = {
  severity: 'info',
  gravity: 0,
  dueAtMs: 0,
  cause: null,
  ownerCause: null,
  fix: null,
  hadLab: true,
} as const

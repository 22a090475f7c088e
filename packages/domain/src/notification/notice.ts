import { redactLoss } from '../calendar/session-admission.ts'
import { affectedSessions } from '../fleet/affected-sessions.ts'
import type { FleetWarning } from '../fleet/fleet-warning.ts'
import type { LicenseLeak } from '../fleet/license-leak.ts'
import { isAtRisk } from '../fleet/lost-promises.ts'
import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { redactWaitingReason } from '../redact-reason.ts'
import { isOver, isUp, type LabletSession } from '../session/lablet-session.ts'
import { isMove, lostSession, movedAt } from '../session/session-health.ts'
import type { Worker } from '../worker/worker.ts'
import { workerHealth } from '../worker/worker-health.ts'
import type { NotificationKind, Severity } from './notification-target.ts'

export const ENDS_SOON_MS = 10 * 60_000

/** What people recognize of the resource that a notice is about. */
export type Subject =
  | {
      readonly kind: 'session'
      readonly id: string
      readonly lab: string
      readonly definition: string
      readonly owner: string
      readonly owner_name: string
      readonly start: Instant
      readonly end: Instant
    }
  | { readonly kind: 'worker'; readonly id: string; readonly name: string }
  | { readonly kind: 'license_leak'; readonly id: string; readonly worker_name: string }
  | { readonly kind: 'fleet'; readonly id: string }

export const subjectKey = ({ kind, id }: Subject): string => `${kind}:${id}`

/** One piece of news about one resource. */
export interface Notice {
  /** The same on every replica, whenever the record is read. */
  readonly key: string
  readonly kind: NotificationKind
  readonly severity: Severity
  readonly subject: Subject
  /** Notices of one group become one notification. */
  readonly group: string
  /** 0 for an event; a problem that lasts has 1, or 2 if the resource can't be used. */
  readonly gravity: 0 | 1 | 2
  readonly at: Instant
  /** Before this time it must not be sent. */
  readonly dueAtMs: number
  readonly cause: Reason | null
  /** The cause as its owner may read it. */
  readonly ownerCause: Reason | null
  /** What an operator can do; its commands are not for owners. */
  readonly fix: Reason | null
  /** Whether the session had a lab before. */
  readonly hadLab: boolean
}

/** Problems of one family replace each other: a session that is down is degraded no more. */
export const FAMILIES = ['health', 'capacity', 'promise'] as const
export type Family = (typeof FAMILIES)[number]

/** What the record of a resource says now. */
export interface Observed {
  readonly subject: Subject
  readonly notices: readonly Notice[]
  /** Whether people may hear that its problem is over: not while its lab or its machine is still on the way. */
  readonly isWell: Readonly<Record<Family, boolean>>
  /** Problems of a resource that is over are not resolved. */
  readonly isOver: boolean
}

export const observedSession = (session: LabletSession, lab: string): Observed => ({
  subject: sessionSubject(session, lab),
  notices: sessionNotices(session, lab),
  isWell: {
    health: isUp(session.status) && session.health.status === 'OK',
    capacity: session.status !== 'PENDING',
    promise: !isAtRisk(session),
  },
  isOver: isOver(session),
})

const NOTHING_WRONG: Observed['isWell'] = { health: true, capacity: true, promise: true }

export const observedWorker = (worker: Worker): Observed => ({
  subject: workerSubject(worker),
  notices: workerNotices(worker),
  isWell: { ...NOTHING_WRONG, health: isWell(worker) },
  isOver: worker.status === 'TERMINATED',
})

const workerSubject = ({ id, name }: Worker): Subject => ({ kind: 'worker', id, name })
const leakSubject = ({ id, worker_name }: LicenseLeak): Subject => ({ kind: 'license_leak', id, worker_name })

/** It serves again, or was stopped by request. */
function isWell(worker: Worker): boolean {
  const { status, desired_status, service_status } = worker
  if (workerHealth(worker).status === 'DOWN') return false
  if (status === 'STOPPED') return desired_status === 'STOPPED'
  return (status === 'RUNNING' || status === 'DRAINING') && service_status === 'AVAILABLE'
}

export const observedLeak = (leak: LicenseLeak): Observed => ({
  subject: leakSubject(leak),
  notices: leakNotices(leak),
  isWell: NOTHING_WRONG,
  isOver: leak.resolved_at !== null,
})

/** Sessions at risk have notices of their own, which their owners get too. Licenses that do not fit are no news. */
export type NotifiedWarning = FleetWarning & { readonly kind: 'budget' | 'capacity_ahead' }

export const isNotified = (warning: FleetWarning): warning is NotifiedWarning =>
  warning.kind === 'budget' || warning.kind === 'capacity_ahead'

/** A warning about the fleet; null for one that is over. */
export function observedWarning(id: string, warning: NotifiedWarning | null, at: Instant): Observed {
  const subject: Subject = { kind: 'fleet', id }
  return {
    subject,
    notices: warning === null ? [] : [warningNotice(subject, warning, at)],
    isWell: { ...NOTHING_WRONG, health: warning === null },
    isOver: false,
  }
}

function warningNotice(
  subject: Subject,
  { kind, is_critical, reason: cause, fix }: NotifiedWarning,
  at: Instant,
): Notice {
  const { code, params } = cause
  const gravity = is_critical ? 2 : 1
  const severity = is_critical ? 'critical' : 'warning'
  return noticeOf(
    subject,
    { kind, severity, group: subject.id, gravity, at, cause, fix },
    `${code} ${params.date ?? params.at}`,
  )
}

type Given = Pick<Notice, 'kind' | 'severity' | 'group' | 'at'> & Partial<Notice>

/** Everything that the record of a session says people should know. `lab` is the title of its definition. */
function sessionNotices(session: LabletSession, lab: string): Notice[] {
  const subject = sessionSubject(session, lab)
  const make = (given: Given, of: string): Notice => noticeOf(subject, given, of)
  const lost = lostSession(session)
  if (lost !== null) {
    const { at, because: cause } = lost
    const group = `${lost.hadLab} ${cause.code} ${worker(session)}`
    return [make({ kind: 'session_lost', severity: 'critical', group, at, cause, hadLab: lost.hadLab }, at)]
  }
  if (session.desired_status === 'TERMINATED') return []
  return [...eventsOf(session, make), ...lossesOf(session, make), ...problemsOf(session, make)]
}

const worker = ({ worker_id }: LabletSession): string => worker_id ?? ''

const sessionSubject = (session: LabletSession, lab: string): Subject => ({
  kind: 'session',
  id: session.id,
  lab,
  definition: session.definition.name,
  owner: session.owner,
  owner_name: session.owner_name === '' ? session.owner : session.owner_name,
  start: session.timeslot.start,
  end: session.timeslot.end,
})

const noticeOf = (subject: Subject, given: Given, of: string): Notice => ({
  key: `${given.kind} ${subjectKey(subject)} ${of}`,
  subject,
  gravity: 0,
  dueAtMs: 0,
  cause: null,
  ownerCause: given.cause ?? null,
  fix: null,
  hadLab: true,
  ...given,
  group: `${given.kind} ${given.group}`,
})

function eventsOf(session: LabletSession, make: (given: Given, of: string) => Notice): Notice[] {
  const { state_history, timeslot, definition } = session
  const notices: Notice[] = []
  const moved = state_history.findLast(isMove)
  if (moved !== undefined) {
    const cause = rootOf(moved.because)
    const group = `${cause.code} ${JSON.stringify(cause.params)}`
    notices.push(make({ kind: 'session_moved', severity: 'warning', group, at: moved.at, cause }, moved.at))
  }
  if (!isUp(session.status)) return notices
  const ready = state_history.findLast(({ to }) => to === 'READY')
  if (ready !== undefined) {
    const hadLab = moved !== undefined
    const group = `${hadLab} ${definition.name}`
    notices.push(make({ kind: 'session_ready', severity: 'info', group, at: ready.at, hadLab }, ready.at))
  }
  const { start, end } = timeslot
  const dueAtMs = toMs(end) - ENDS_SOON_MS
  if (dueAtMs > toMs(start)) {
    const group = `${definition.name} ${end}`
    const at = toInstant(dueAtMs)
    notices.push(make({ kind: 'session_ends_soon', severity: 'info', group, at, dueAtMs }, end))
  }
  return notices
}

/** Owners may book another time, and operators may bring the capacity back. */
function lossesOf(session: LabletSession, make: (given: Given, of: string) => Notice): Notice[] {
  const { admission } = session
  const cause = admission.at_risk
  if (cause === null || !isAtRisk(session)) return []
  const since = String(cause.params.since)
  const given = {
    group: cause.message,
    at: since,
    cause,
    ownerCause: redactLoss(admission),
    fix: reason('fix_session_at_risk'),
  }
  return [make({ kind: 'session_at_risk', severity: 'warning', gravity: 2, ...given }, since)]
}

/** The cause of a move, without the sentence around it. */
function rootOf(because: Reason): Reason {
  const { cause } = because.params
  return because.code === 'session_moved' && typeof cause === 'object' && cause !== null ? (cause as Reason) : because
}

function problemsOf(session: LabletSession, make: (given: Given, of: string) => Notice): Notice[] {
  const [group] = affectedSessions([session])
  const [affected] = group?.sessions ?? []
  if (group === undefined || affected === undefined) return []
  // A session that is being moved has a notice of that.
  const isMoving = group.cause.code === 'session_starts_elsewhere' || group.cause.code === 'waiting_for_placement'
  if (isMoving && movedAt(session) !== null) return []
  const isDown = group.health === 'DOWN'
  const placed = isDown ? 'session_down' : 'session_degraded'
  const given: Given = {
    kind: session.status === 'PENDING' ? 'capacity_short' : placed,
    severity: isDown ? 'critical' : 'warning',
    group: group.key,
    gravity: isDown ? 2 : 1,
    at: affected.since,
    cause: group.cause,
    ownerCause: waitingBecause(session) ?? group.cause,
    fix: group.fix,
  }
  // A session may wait twice for the same slot.
  const since = session.status === 'PENDING' ? session.entered_status_at : given.at
  return [make(given, `${given.gravity} ${since}`)]
}

/** Owners don't read how the scheduler decides; null unless the session waits. */
function waitingBecause({ status, health, waiting_reason }: LabletSession): Reason | null {
  const because = health.reason ?? waiting_reason
  return status !== 'PENDING' || because === null ? null : redactWaitingReason(because)
}

/** A worker that people notice: it failed, can't start, or its CML does not answer. */
function workerNotices(record: Worker): Notice[] {
  const { status, reason: cause, since } = workerHealth(record)
  if (status !== 'DOWN' || since === null) return []
  const fix = reason('fix_worker', { worker: record.name })
  return [
    noticeOf(
      workerSubject(record),
      { kind: 'worker_failed', severity: 'critical', group: '', gravity: 2, at: since, cause, fix },
      since,
    ),
  ]
}

function leakNotices(leak: LicenseLeak): Notice[] {
  if (leak.resolved_at !== null) return []
  const { at, reason: cause } = leak
  return [noticeOf(leakSubject(leak), { kind: 'license_leak', severity: 'warning', group: '', at, cause }, '')]
}

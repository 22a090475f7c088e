import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { AffectedSessions } from '@lcm/domain/fleet/affected-sessions'
import type { FleetWarning } from '@lcm/domain/fleet/fleet-warning'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, isLive, type LabletSession } from '@lcm/domain/session/lablet-session'
import { accessAdvice, CML_REASONS } from '@lcm/domain/worker/decision/cml-access'
import { approvalRequired, awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { definitionHash, type ListPage, pageHash, sessionHash, workerHash } from '../../state/router.ts'

/** `alarm`: a person must act. `watch`: it may resolve itself. */
export type Urgency = 'alarm' | 'watch'

/** One problem, with a link to its resource. */
export interface Attention {
  readonly key: string
  readonly urgency: Urgency
  /** The problem in two or three words. */
  readonly what: string
  readonly name: string
  readonly text: string
  readonly since: Instant | null
  readonly href: string
  /** List page of the resource, with its status as a filter if the page supports it. */
  readonly all: { readonly page: ListPage; readonly status?: string }
  /** A leaked license that a person can mark as released. */
  readonly leak: LicenseLeak | null
}

/** The fields of a service that matter here. */
interface Service {
  readonly service: string
  readonly leader: object | null
  readonly instances: readonly {
    readonly instance_id: string
    readonly watch: { readonly healthy: boolean; readonly age_seconds: number | null }
  }[]
}

export interface Watched {
  readonly workers: Iterable<Worker>
  readonly sessions: Iterable<LabletSession>
  /** Sessions that have an entry of their own, by cause. */
  readonly affected: readonly AffectedSessions[]
  readonly definitions: Iterable<Omit<LabletDefinition, 'topology'>>
  readonly labs: Iterable<LabRecord>
  /** Null until loaded. */
  readonly services: readonly Service[] | null
  readonly leaks: readonly LicenseLeak[]
  readonly warnings: readonly FleetWarning[]
  readonly nowMs: number
}

/**
 * Problems without affected sessions, most urgent and oldest first. A worker that sessions name as their cause is left out,
 * unless something keeps it from starting.
 */
export function attentionOf(watched: Watched): Attention[] {
  const named = new Set(watched.affected.map(({ cause }) => cause.params.worker))
  const isNamed = (worker: Worker) =>
    named.has(worker.name) && workerHealth(worker).status !== 'OK' && holding(worker, CONDITION.blocked) === undefined
  const found = [
    ...(watched.services ?? []).flatMap(ofService),
    ...watched.warnings.map(ofWarning),
    ...each(watched.workers, worker => (isNamed(worker) ? null : ofWorker(worker, watched.nowMs))),
    ...watched.leaks.filter(leak => leak.resolved_at === null).map(ofLeak),
    ...each(watched.sessions, session => ofSession(session, watched.nowMs)),
    ...each(watched.definitions, ofDefinition),
    ...each(watched.labs, ofLab),
  ]
  return found.toSorted(
    (a, b) => rank(a) - rank(b) || (a.since ?? '').localeCompare(b.since ?? '') || a.key.localeCompare(b.key),
  )
}

const rank = ({ urgency }: Attention): number => (urgency === 'alarm' ? 0 : 1)

function* each<T>(all: Iterable<T>, read: (item: T) => Attention | null): Iterable<Attention> {
  for (const item of all) {
    const found = read(item)
    if (found !== null) yield found
  }
}

function ofService({ service, leader, instances }: Service): Attention[] {
  const place = { href: pageHash('controllers'), all: { page: 'controllers' }, leak: null, since: null } as const
  const found: Attention[] = []
  if (leader === null) {
    const text =
      instances.length === 0
        ? 'no instance has sent a heartbeat recently'
        : 'no decisions are made until a replica becomes leader'
    found.push({ ...place, key: `leader ${service}`, urgency: 'alarm', what: 'No leader', name: service, text })
  }
  for (const { instance_id, watch } of instances.filter(instance => !instance.watch.healthy)) {
    const age = watch.age_seconds === null ? '' : `, last event ${Math.round(watch.age_seconds)} s ago`
    const text = `${instance_id} receives no change events${age}; it falls back to periodic sweeps`
    found.push({ ...place, key: `watch ${instance_id}`, urgency: 'watch', what: 'Watch degraded', name: service, text })
  }
  return found
}

const holding = (worker: Worker, type: string): Condition | undefined =>
  worker.conditions.find(condition => condition.type === type && condition.status)

/** Conditions that block a worker, most specific first. */
const STUCK: readonly (readonly [string, string])[] = [
  [CONDITION.blocked, 'Launch blocked'],
  [CONDITION.ec2Unreachable, 'EC2 unreachable'],
  [CONDITION.stopBlocked, 'Stop blocked'],
  [CONDITION.terminateBlocked, 'Termination blocked'],
  [CONDITION.overdue, 'Stuck'],
  [CONDITION.notOurs, 'No longer managed'],
  [CONDITION.certificateChanged, 'Certificate changed'],
  [CONDITION.cmlAccessRefused, 'CML access denied'],
]

/** Not a failure: something was not configured, or is turned off. */
const NOT_SET_UP: Readonly<Record<string, string>> = {
  [CML_REASONS.credentials]: 'CML login missing',
  [CML_REASONS.telemetry_off]: 'CML telemetry is off',
}

/** A lost machine is listed for one day. */
const LOST_MS = 24 * 3_600_000

const isLost = ({ status, desired_status, entered_status_at }: Worker, nowMs: number): boolean =>
  status === 'TERMINATED' && desired_status !== 'TERMINATED' && nowMs - toMs(entered_status_at) < LOST_MS

function ofWorker(worker: Worker, nowMs: number): Attention | null {
  const { id, name, status, entered_status_at: since } = worker
  const about = { key: id, name, href: workerHash(id), all: { page: 'workers', status }, leak: null } as const
  const because = () => worker.state_history.at(-1)?.because.message ?? ''
  if (isLost(worker, nowMs)) {
    const text = 'its machine no longer exists'
    return { ...about, urgency: 'alarm', what: 'Worker lost', text, since }
  }
  if (status === 'TERMINATED') return null
  if (awaitsApproval(worker))
    return { ...about, urgency: 'watch', what: 'Approval required', text: approvalRequired(worker).message, since }
  if (status === 'FAILED') {
    const text = holding(worker, CONDITION.failed)?.reason.message ?? because()
    return { ...about, urgency: 'alarm', what: 'Worker failed', text, since }
  }
  for (const [type, what] of STUCK) {
    const condition = holding(worker, type)
    if (condition === undefined) continue
    const advice = accessAdvice(condition.reason)
    const text = advice === null ? condition.reason.message : `${condition.reason.message}; ${advice}`
    const item = { ...about, text, since: condition.since }
    const missing = NOT_SET_UP[condition.reason.code]
    if (missing !== undefined) return { ...item, urgency: 'watch', what: missing }
    return { ...item, urgency: 'alarm', what }
  }
  if (status === 'UNKNOWN') return { ...about, urgency: 'alarm', what: 'Status unknown', text: because(), since }
  if (worker.drain !== null && toMs(worker.drain.deadline) < nowMs) {
    const text = 'its sessions did not end before the deadline'
    return { ...about, urgency: 'alarm', what: 'Drain overdue', text, since: worker.drain.deadline }
  }
  const ignored = holding(worker, CONDITION.endpointIgnored)
  if (ignored)
    return {
      ...about,
      urgency: 'watch',
      what: 'Endpoint tag ignored',
      text: ignored.reason.message,
      since: ignored.since,
    }
  if (worker.license.status === 'FAILED')
    return { ...about, urgency: 'watch', what: 'License failed', text: worker.license.last_error ?? '', since: null }
  const { status: health, reason, since: unwellSince } = workerHealth(worker)
  if (health === 'OK' || reason === null) return null
  const urgency = health === 'DOWN' ? 'alarm' : 'watch'
  return { ...about, urgency, what: `Worker ${health}`, text: reason.message, since: unwellSince }
}

const ofLeak = (leak: LicenseLeak): Attention => ({
  key: leak.id,
  urgency: 'watch',
  what: 'Leaked license',
  name: leak.worker_name,
  text: [leak.reason.message, leak.hostname ?? leak.udi].filter(Boolean).join(' · '),
  since: leak.at,
  href: workerHash(leak.worker_id),
  all: { page: 'overview' },
  leak,
})

const WARNING_TEXTS: Readonly<Record<FleetWarning['kind'], string>> = {
  budget: 'Budget',
  capacity_ahead: 'Too little ahead',
  session_at_risk: 'Sessions at risk',
  license: 'License',
}

const ofWarning = ({ id, kind, is_critical, reason, fix }: FleetWarning): Attention => ({
  key: id,
  urgency: is_critical ? 'alarm' : 'watch',
  what: WARNING_TEXTS[kind],
  name: kind === 'session_at_risk' ? 'Sessions' : 'Settings',
  text: `${reason.message}; ${fix.message}`,
  since: null,
  href: pageHash(kind === 'session_at_risk' ? 'sessions' : 'settings'),
  all: { page: 'overview' },
  leak: null,
})

/** Time for the teardown before a session counts as stuck. */
const TEARDOWN_MS = 15 * 60_000

function ofSession(session: LabletSession, nowMs: number): Attention | null {
  const { id, status, timeslot, definition } = session
  if (isFinal(status)) return null
  const all = { page: 'sessions', status } as const
  const about = { key: id, name: definition.name, href: sessionHash(id), all, leak: null }
  const failed = Object.entries(session.pipeline?.steps ?? {}).find(
    ([, step]) => step.status === 'failed' || step.status === 'blocked',
  )
  if (failed) {
    const [step, { error, started_at: since }] = failed
    return { ...about, urgency: 'alarm', what: 'Step failed', text: error ?? session.last_error ?? step, since }
  }
  if (isLive(status) && toMs(timeslot.end) + TEARDOWN_MS < nowMs) {
    const text = `its timeslot has ended, but it is still ${status}`
    return { ...about, urgency: 'alarm', what: 'Session stuck', text, since: timeslot.end }
  }
  return null
}

function ofDefinition({ id, name, status, sync, updated_at }: Omit<LabletDefinition, 'topology'>): Attention | null {
  if (status === 'DEPRECATED' || sync.status !== 'failed') return null
  const about = { key: id, name, href: definitionHash(id), all: { page: 'definitions' }, leak: null } as const
  return { ...about, urgency: 'watch', what: 'Sync failed', text: sync.error ?? '', since: updated_at }
}

function ofLab({ id, title, status, pending_action, last_error, updated_at }: LabRecord): Attention | null {
  const error = pending_action?.error ?? (status === 'ERROR' ? (last_error ?? 'CML reports an error') : null)
  if (error === null) return null
  const what = pending_action === null ? 'Lab error' : `Could not ${pending_action.action} lab`
  const href = pageHash('labs', { q: id })
  const since = pending_action?.at ?? updated_at
  return {
    key: id,
    urgency: 'watch',
    what,
    name: title,
    text: error,
    since,
    href,
    all: { page: 'labs' },
    leak: null,
  }
}

export interface AttentionGroup {
  readonly shown: readonly Attention[]
  readonly moreCount: number
  readonly moreHref: string
  readonly what: string
}

/** At most this many problems of one kind are shown, so that one kind can't hide the others. */
const SHOWN_PER_KIND = 4

export function groupsOf(items: readonly Attention[]): AttentionGroup[] {
  const kinds = [...new Set(items.map(item => item.what))]
  return kinds.map(what => {
    const all = items.filter(item => item.what === what)
    // Leaks can be resolved only here, so all of them are shown.
    const count = all[0]?.leak ? all.length : SHOWN_PER_KIND
    return {
      what,
      shown: all.slice(0, count),
      moreCount: Math.max(0, all.length - count),
      moreHref: hrefOf(all.map(item => item.all)),
    }
  })
}

/** Problems of one kind may have several statuses: the link includes all of them. */
function hrefOf(places: readonly Attention['all'][]): string {
  const statuses = new Set(places.flatMap(({ status }) => status ?? []))
  return pageHash(places[0]?.page ?? 'overview', { status: [...statuses].join(',') })
}

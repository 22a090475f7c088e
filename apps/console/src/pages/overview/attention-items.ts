import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, isLive, LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import { CML_REASONS } from '@lcm/domain/worker/cml-access'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { definitionHash, type ListPage, pageHash, sessionHash, workerHash } from '../../state/router.ts'

/** `alarm`: somebody has to do something. `watch`: it may go by itself. */
export type Urgency = 'alarm' | 'watch'

/** One thing that does not go as it should, and where to go for it. */
export interface Attention {
  readonly key: string
  readonly urgency: Urgency
  /** What is wrong, in two or three words. */
  readonly what: string
  readonly name: string
  readonly text: string
  readonly since: Instant | null
  readonly href: string
  /** Where all of its kind are; by status where such a page can be narrowed to it. */
  readonly all: { readonly page: ListPage; readonly status?: string }
  /** A license that a person can say is dealt with. */
  readonly leak: LicenseLeak | null
}

/** What counts of a service here. */
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
  readonly definitions: Iterable<Omit<LabletDefinition, 'topology'>>
  readonly labs: Iterable<LabRecord>
  /** Null while it is not known. */
  readonly services: readonly Service[] | null
  readonly leaks: readonly LicenseLeak[]
  readonly nowMs: number
}

/** What needs somebody, the most urgent and oldest first. */
export function attentionOf(watched: Watched): Attention[] {
  const found = [
    ...(watched.services ?? []).flatMap(ofService),
    ...each(watched.workers, worker => ofWorker(worker, watched.nowMs)),
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
      instances.length === 0 ? 'no instance was heard of lately' : 'what it does stands still until one leads'
    found.push({ ...place, key: `leader ${service}`, urgency: 'alarm', what: 'No leader', name: service, text })
  }
  for (const { instance_id, watch } of instances.filter(instance => !instance.watch.healthy)) {
    const age = watch.age_seconds === null ? '' : `, silent for ${Math.round(watch.age_seconds)} s`
    const text = `${instance_id} hears of no changes${age}; it looks at everything now and then instead`
    found.push({ ...place, key: `watch ${instance_id}`, urgency: 'watch', what: 'Watch degraded', name: service, text })
  }
  return found
}

const holding = (worker: Worker, type: string): Condition | undefined =>
  worker.conditions.find(condition => condition.type === type && condition.status)

/** Conditions under which a worker does not go on, in the order in which they tell most. */
const STUCK: readonly (readonly [string, string])[] = [
  [CONDITION.blocked, 'Launch blocked'],
  [CONDITION.ec2Unreachable, 'EC2 does not answer'],
  [CONDITION.stopBlocked, 'Stop blocked'],
  [CONDITION.terminateBlocked, 'Termination blocked'],
  [CONDITION.overdue, 'Stuck'],
  [CONDITION.notOurs, 'Not ours any more'],
  [CONDITION.cmlAccessRefused, 'CML refuses LCM'],
]

/** Nothing is broken: a person has not set it up, or turned it off. */
const NOT_SET_UP: Readonly<Record<string, string>> = {
  [CML_REASONS.credentials]: 'No CML login',
  [CML_REASONS.telemetry_off]: 'CML telemetry is off',
}

/** A machine that was lost is news for a day; afterwards it is history. */
const LOST_MS = 24 * 3_600_000

const isLost = ({ status, desired_status, entered_status_at }: Worker, nowMs: number): boolean =>
  status === 'TERMINATED' && desired_status !== 'TERMINATED' && nowMs - toMs(entered_status_at) < LOST_MS

function ofWorker(worker: Worker, nowMs: number): Attention | null {
  const { id, name, status, entered_status_at: since } = worker
  const about = { key: id, name, href: workerHash(id), all: { page: 'workers', status }, leak: null } as const
  const because = () => worker.state_history.at(-1)?.because ?? ''
  if (isLost(worker, nowMs)) {
    const text = 'its machine is gone for good'
    return { ...about, urgency: 'alarm', what: 'Worker lost', text, since }
  }
  if (status === 'TERMINATED') return null
  if (status === 'FAILED') {
    const text = holding(worker, CONDITION.failed)?.message || because()
    return { ...about, urgency: 'alarm', what: 'Worker failed', text, since }
  }
  for (const [type, what] of STUCK) {
    const condition = holding(worker, type)
    if (condition === undefined) continue
    const told = { ...about, text: condition.message, since: condition.since }
    const missing = NOT_SET_UP[condition.reason]
    if (missing !== undefined) return { ...told, urgency: 'watch', what: missing }
    return { ...told, urgency: 'alarm', what }
  }
  if (status === 'UNKNOWN') return { ...about, urgency: 'alarm', what: 'Out of sight', text: because(), since }
  if (worker.drain !== null && toMs(worker.drain.deadline) < nowMs) {
    const text = 'sessions on it did not end in time'
    return { ...about, urgency: 'alarm', what: 'Drain overdue', text, since: worker.drain.deadline }
  }
  const ignored = holding(worker, CONDITION.endpointIgnored)
  if (ignored)
    return { ...about, urgency: 'watch', what: 'Endpoint tag ignored', text: ignored.message, since: ignored.since }
  if (worker.license.status === 'FAILED')
    return { ...about, urgency: 'watch', what: 'No license', text: worker.license.last_error ?? '', since: null }
  if (status === 'RUNNING' && worker.service_status === 'ERROR')
    return { ...about, urgency: 'watch', what: 'CML in error', text: 'CML reports an error', since: null }
  return null
}

const ofLeak = (leak: LicenseLeak): Attention => ({
  key: leak.id,
  urgency: 'watch',
  what: 'Leaked license',
  name: leak.worker_name,
  text: [leak.reason, leak.hostname ?? leak.udi].filter(Boolean).join(' · '),
  since: leak.at,
  href: workerHash(leak.worker_id),
  all: { page: 'overview' },
  leak,
})

/** A lab that is to be taken down has this long before it counts as stuck. */
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
    const text = `its time was over, and it is still ${status}`
    return { ...about, urgency: 'alarm', what: 'Session stuck', text, since: timeslot.end }
  }
  const stopped = session.conditions.find(condition => condition.type === LAB_STOPPED && condition.status)
  if (stopped) return { ...about, urgency: 'alarm', what: 'Lab stopped', text: stopped.message, since: stopped.since }
  if (status === 'PENDING' && session.waiting_reason !== null) {
    const isLate = toMs(timeslot.start) < nowMs
    const what = isLate ? 'Waits past its start' : 'Session waits'
    return {
      ...about,
      urgency: isLate ? 'alarm' : 'watch',
      what,
      text: session.waiting_reason,
      since: session.created_at,
    }
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
  const what = pending_action === null ? 'Lab in error' : `Could not ${pending_action.action} lab`
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

/** A storm of one kind must not bury the rest: of each only the first few are shown. */
const SHOWN_PER_KIND = 4

export function groupsOf(items: readonly Attention[]): AttentionGroup[] {
  const kinds = [...new Set(items.map(item => item.what))]
  return kinds.map(what => {
    const all = items.filter(item => item.what === what)
    // Leaks are dealt with here and nowhere else.
    const count = all[0]?.leak ? all.length : SHOWN_PER_KIND
    return {
      what,
      shown: all.slice(0, count),
      moreCount: Math.max(0, all.length - count),
      moreHref: hrefOf(all.map(item => item.all)),
    }
  })
}

/** Those of one kind may be in several statuses: none is left out. */
function hrefOf(places: readonly Attention['all'][]): string {
  const statuses = new Set(places.flatMap(({ status }) => status ?? []))
  return pageHash(places[0]?.page ?? 'overview', { status: [...statuses].join(',') })
}

import { withoutReservation } from '../calendar/worker-ledger.ts'
import { type Instant, readInstant } from '../instant.ts'
import { isQuiet, type LabRecord } from '../lab/lab-record.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { Worker } from '../worker/worker.ts'
import { ACTIVITY_EVENTS_MAX } from '../worker/worker-field-schemas.ts'

/** Event categories that users cause. All others in the telemetry come from the server itself. */
export const ACTIVITY_CATEGORIES: readonly string[] = [
  'start_lab',
  'stop_lab',
  'import_lab',
  'export_lab',
  'start_node',
  'stop_node',
  'queue_node',
  'boot_node',
  'wipe_node',
  'packet_capture',
  'user_activity',
]

/** The newest events are kept. */
const EVENTS_MAX = 100
/** One event per lab, so that the start of a large lab does not push out the others. */
export const LAB_EVENTS_MAX = 300
const CHARS_MAX = { category: 64, detail: 200 } as const

export interface ServerTelemetry {
  readonly own_user_id: string | null
  readonly is_collected: boolean
  readonly events: readonly TelemetryEvent[]
}

interface TelemetryEvent {
  readonly category: string
  readonly at: string
  readonly user_id: string | null
  readonly lab_id: string | null
}

type ActivityEvent = Worker['activity']['recent_events'][number]

/** The newest event of a lab that names no user. Only the lab's record tells whether LCM caused it. */
export interface LabEvent {
  readonly lab_id: string
  readonly at: Instant
  readonly category: string
}

export interface ActivityEvidence {
  readonly last_activity_at: Instant | null
  readonly running_nodes: number | null
  readonly events: readonly ActivityEvent[]
  readonly lab_events: readonly LabEvent[]
}

/**
 * The activity of users in a server's telemetry. Null when it collects none, which never counts as idle. Calls of LCM are
 * left out, or reading the telemetry would keep every server busy.
 */
export function evidenceOf(
  telemetry: ServerTelemetry,
  { runningNodes, worker }: { runningNodes: number | null; worker: Pick<Worker, 'activity' | 'reservations'> },
): ActivityEvidence | null {
  if (!telemetry.is_collected) return null
  const found = telemetry.events.flatMap(event => {
    const at = readInstant(event.at)
    const isActivity = ACTIVITY_CATEGORIES.includes(event.category) && !isOwn(event.user_id, telemetry.own_user_id)
    // One event that can't be dated must not hide the others.
    return at !== null && isActivity ? [{ ...event, at, category: event.category.slice(0, CHARS_MAX.category) }] : []
  })
  const people = found.filter(event => event.user_id !== null || (event.lab_id === null && !isOfSession(event, worker)))
  const events = sorted(
    people.map(({ at, category, user_id }) => ({
      at,
      category,
      detail: (user_id === null ? '' : `user ${user_id}`).slice(0, CHARS_MAX.detail),
    })),
  )
  return {
    last_activity_at: events.at(-1)?.at ?? null,
    running_nodes: runningNodes,
    events: events.slice(-EVENTS_MAX),
    lab_events: newestPerLab(found),
  }
}

const isOwn = (userId: string | null, ownUserId: string | null): boolean => userId !== null && userId === ownUserId

const sorted = <E extends { readonly at: Instant }>(events: readonly E[]): E[] =>
  [...events].sort((a, b) => (a.at < b.at ? -1 : 1))

/** Nodes of sessions start, stop and are wiped until the last session is released, whose end counts separately. */
const isOfSession = (
  { category, at }: { category: string; at: Instant },
  { activity, reservations }: Pick<Worker, 'activity' | 'reservations'>,
): boolean =>
  category.endsWith('_node') &&
  (Object.keys(reservations).length > 0 || (activity.sessions_until !== null && at <= activity.sessions_until))

function newestPerLab(found: readonly (TelemetryEvent & { at: Instant })[]): LabEvent[] {
  const newest = new Map<string, LabEvent>()
  for (const { lab_id, user_id, at, category } of sorted(found))
    if (lab_id !== null && user_id === null) newest.set(lab_id, { lab_id, at, category })
  return sorted([...newest.values()]).slice(-LAB_EVENTS_MAX)
}

/** The evidence with events of users' labs counted as activity. Those of LCM's own labs are dropped: sessions explain them. */
export function withPeoplesLabs(
  { last_activity_at, running_nodes, events, lab_events }: ActivityEvidence,
  labs: readonly LabRecord[],
): ActivityEvidence {
  const own = new Set(labs.filter(isOwnLab).map(({ lab_id }) => lab_id))
  const theirs = lab_events.filter(({ lab_id }) => !own.has(lab_id))
  const ofLabs = theirs.map(({ lab_id, at, category }) => ({ at, category, detail: `lab ${lab_id}` }))
  return {
    last_activity_at: latest([last_activity_at, theirs.at(-1)?.at ?? null]),
    running_nodes,
    events: sorted([...events, ...ofLabs]).slice(-EVENTS_MAX),
    lab_events: [],
  }
}

/** A kept lab that runs without a session was started by a user. */
const isOwnLab = ({ source, session_id, status }: LabRecord): boolean =>
  source === 'IMPORT' && (session_id !== null || isQuiet(status))

const latest = (moments: readonly (Instant | null)[]): Instant | null =>
  moments.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a))

/** The newest events. A check may repeat events of an earlier one. */
export function newestEvents(events: readonly ActivityEvent[]): ActivityEvent[] {
  const once = new Map(events.map(event => [`${event.at} ${event.category} ${event.detail}`, event]))
  return sorted([...once.values()]).slice(-ACTIVITY_EVENTS_MAX)
}

/**
 * The worker without a session that it had. The end of that session is use: idle time begins then, and not when its lab has been
 * removed. Without the session itself only its reservation goes, and nodes of it may have run until now.
 */
export function afterSession(worker: Worker, id: string, session: LabletSession | null, now: Instant): Worker {
  if (worker.reservations[id] === undefined) return worker
  const { activity } = worker
  const at = session === null ? null : endOf(session)
  const ended = at !== null && {
    last_activity_at: latest([activity.last_activity_at, at]),
    recent_events: newestEvents([...activity.recent_events, { at, category: 'session_end', detail: id }]),
    idle_since: null,
  }
  const hadNoLab = session !== null && at === null
  const sessions_until = hadNoLab ? activity.sessions_until : now
  return withoutReservation({ ...worker, activity: { ...activity, ...ended, sessions_until } }, id)
}

/** Null for a session that never had a lab. */
function endOf({ state_history, timeslot }: LabletSession): Instant | null {
  const stopping = state_history.findLast(({ to }) => to === 'STOPPING')
  if (stopping === undefined) return null
  return stopping.at < timeslot.end ? stopping.at : timeslot.end
}

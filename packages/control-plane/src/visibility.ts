import { mayView } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { redactReason } from '@lcm/domain/redact-reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Collection } from '@lcm/store/store'
import { narrowWorker } from './narrow-view.ts'
import { redactSessionIds } from './redact-session-ids.ts'
import { listAll } from './resources/list-documents.ts'

/**
 * An actor that knows worker and ports of a lab can reach its consoles. So actors that may not see every session get workers
 * and labs without the parts of other owners' sessions. This file alone defines those parts.
 */
export interface Ownership {
  readonly sessions: ReadonlySet<string>
  /** Records of the current labs of those sessions. */
  readonly labs: ReadonlySet<string>
}

interface Owned {
  readonly sessions: Collection<LabletSession>
  readonly labs: Collection<LabRecord>
}

export const OWNS_NOTHING: Ownership = { sessions: new Set(), labs: new Set() }

export const seesAll = (actor: Actor): boolean => mayView(actor, '')

export const ownershipIn = (sessions: readonly Pick<LabletSession, 'id' | 'lab_record_id'>[]): Ownership => ({
  sessions: new Set(sessions.map(({ id }) => id)),
  labs: new Set(sessions.flatMap(({ lab_record_id }) => lab_record_id ?? [])),
})

/** Null for an actor that sees everything: nothing is redacted. */
export const ownershipOf = async ({ sessions }: Pick<Owned, 'sessions'>, actor: Actor): Promise<Ownership | null> =>
  seesAll(actor) ? null : ownershipIn(await listAll(sessions, { where: { owner: actor.id } }))

/** Audience of a decision or planned action. */
interface Visibility {
  /** Owner of its session; null when it is public. */
  readonly owner: string | null
  /** Parts of it that the owner may see. */
  readonly own: Ownership
}

const PUBLIC: Visibility = { owner: null, own: OWNS_NOTHING }
/** The owner of a deleted resource is unknown, so only actors that see everything receive it. */
const UNKNOWN: Visibility = { owner: '', own: OWNS_NOTHING }

/** For a resource such as `session:ls-1`. A lab is as private as its session. */
export async function visibilityOf({ sessions, labs }: Owned, resource: string): Promise<Visibility> {
  const [kind, id = ''] = resource.split(':')
  if (kind === 'session') return visibilityOfSession(await sessions.get(id))
  if (kind !== 'lab_record') return PUBLIC
  const lab = await labs.get(id)
  if (lab === null) return UNKNOWN
  return lab.session_id === null ? PUBLIC : visibilityOfSession(await sessions.get(lab.session_id))
}

const visibilityOfSession = (session: LabletSession | null): Visibility =>
  session === null ? UNKNOWN : { owner: session.owner, own: ownershipIn([session]) }

/** Every session in the reservations and requests of a worker. */
export const sessionsOfWorker = ({ reservations, wanted_by }: Worker): string[] => [
  ...new Set([...Object.keys(reservations), ...wanted_by]),
]

/** Totals stay: they show how full a worker is, and name no session. Its machine is not shown at all. */
export function redactWorker<W extends Worker>(worker: W, own: Ownership | null): W {
  if (own === null) return worker
  return redactSessionIds(
    {
      ...narrowWorker(worker),
      reservations: onlyKeys(worker.reservations, own.sessions),
      ports: onlyKeys(worker.ports, own.labs),
      wanted_by: worker.wanted_by.filter(id => own.sessions.has(id)),
    },
    own,
  )
}

/** Every session that a lab was for, as far as recorded. */
export const sessionsOfLab = ({ session_id, runs }: LabRecord): string[] => [
  ...new Set([session_id, ...runs.map(run => run.session_id)].filter(id => id !== null)),
]

/**
 * Null for a lab of another owner's session. An unowned lab may still run with the ports of its last session, so they are
 * hidden, and errors may name its machine. So may the reasons of runs that were for no own session.
 */
export function redactLab(lab: LabRecord, own: Ownership | null): LabRecord | null {
  if (own === null) return lab
  if (lab.session_id !== null && !own.sessions.has(lab.session_id)) return null
  const runs = lab.runs.map(run =>
    run.session_id !== null && own.sessions.has(run.session_id)
      ? run
      : { ...run, session_id: null, reason: redactReason(run.reason) },
  )
  const pending_action = lab.pending_action && { ...lab.pending_action, error: null }
  const isUnowned = lab.session_id === null
  return redactSessionIds({ ...lab, runs, ...(isUnowned ? { ports: {}, last_error: null, pending_action } : {}) }, own)
}

/** Whether the lab had no owner before its session, and so every actor could see it. */
export const wasUnowned = ({ source, session_id, runs }: LabRecord): boolean =>
  source === 'DISCOVERY' || runs.some(run => run.session_id !== session_id)

const onlyKeys = <T>(all: Readonly<Record<string, T>>, wanted: ReadonlySet<string>): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => wanted.has(key)))

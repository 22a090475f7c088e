import { mayView } from '@lcm/contract/access'
import type { Actor } from '@lcm/domain/actor'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'

/**
 * An actor that knows worker and ports of a lab can reach its consoles. So actors that may not see every session get workers
 * and labs without the parts of other owners' sessions. This file alone defines those parts.
 */
export interface Ownership {
  readonly sessions: ReadonlySet<string>
  /** Records of the current labs of those sessions. */
  readonly labs: ReadonlySet<string>
}

export const OWNS_NOTHING: Ownership = { sessions: new Set(), labs: new Set() }

export const seesAll = (actor: Actor): boolean => mayView(actor, '')

export const ownershipIn = (sessions: readonly Pick<LabletSession, 'id' | 'lab_record_id'>[]): Ownership => ({
  sessions: new Set(sessions.map(({ id }) => id)),
  labs: new Set(sessions.flatMap(({ lab_record_id }) => lab_record_id ?? [])),
})

/** Every session in the reservations and requests of a worker. */
export const sessionsOfWorker = ({ reservations, wanted_by }: Worker): string[] => [
  ...new Set([...Object.keys(reservations), ...wanted_by]),
]

/** Totals stay: they show how full a worker is, and name no session. */
export function redactWorker<W extends Worker>(worker: W, own: Ownership | null): W {
  if (own === null) return worker
  return redactSessionIds(
    {
      ...worker,
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
 * hidden.
 */
export function redactLab(lab: LabRecord, own: Ownership | null): LabRecord | null {
  if (own === null) return lab
  if (lab.session_id !== null && !own.sessions.has(lab.session_id)) return null
  const runs = lab.runs.map(run =>
    run.session_id === null || own.sessions.has(run.session_id) ? run : { ...run, session_id: null },
  )
  return redactSessionIds({ ...lab, runs, ports: lab.session_id === null ? {} : lab.ports }, own)
}

const SESSION_ID = /\bls-[0-9a-hjkmnp-tv-z]{13}\b/g
const ANOTHER = 'ls-…'

/** Replaces ids of other owners' sessions in any text. */
export function redactSessionIds<T extends object>(value: T, own: Ownership | null): T {
  if (own === null) return value
  const text = JSON.stringify(value)
  const redacted = text.replace(SESSION_ID, id => (own.sessions.has(id) ? id : ANOTHER))
  return redacted === text ? value : JSON.parse(redacted)
}

const onlyKeys = <T>(all: Readonly<Record<string, T>>, wanted: ReadonlySet<string>): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => wanted.has(key)))

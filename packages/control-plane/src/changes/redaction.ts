import { maySee } from '@lcm/contract/access'
import type { Actor } from '@lcm/domain/actor'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'

/**
 * Whoever knows the worker and the ports of a lab is at its consoles. So those who may not see every session are shown fleet and
 * labs without what belongs to the sessions of others. This file alone says what that is.
 */
export interface Ownership {
  readonly sessions: ReadonlySet<string>
  /** Records of the labs that those sessions have now. */
  readonly labs: ReadonlySet<string>
}

export const OWNS_NOTHING: Ownership = { sessions: new Set(), labs: new Set() }

export const seesAll = (actor: Actor): boolean => maySee(actor, '')

export const ownershipIn = (sessions: readonly Pick<LabletSession, 'id' | 'lab_record_id'>[]): Ownership => ({
  sessions: new Set(sessions.map(({ id }) => id)),
  labs: new Set(sessions.flatMap(({ lab_record_id }) => lab_record_id ?? [])),
})

/** Every session that a worker's book names. */
export const sessionsOfWorker = ({ reservations, wanted_by }: Worker): string[] => [
  ...new Set([...Object.keys(reservations), ...wanted_by]),
]

/** Sums and counts stay: they tell how full it is, and of nobody. */
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

/** Every session that a lab was ever for, as far as it is on record. */
export const sessionsOfLab = ({ session_id, runs }: LabRecord): string[] => [
  ...new Set([session_id, ...runs.map(run => run.session_id)].filter(id => id !== null)),
]

/** Null for the lab of somebody else's session. What is nobody's may still run with the ports that somebody had. */
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

/** With the ids of others' sessions blotted out wherever a sentence or a title names them. */
export function redactSessionIds<T extends object>(told: T, own: Ownership | null): T {
  if (own === null) return told
  const text = JSON.stringify(told)
  const blotted = text.replace(SESSION_ID, id => (own.sessions.has(id) ? id : ANOTHER))
  return blotted === text ? told : JSON.parse(blotted)
}

const onlyKeys = <T>(all: Readonly<Record<string, T>>, wanted: ReadonlySet<string>): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => wanted.has(key)))

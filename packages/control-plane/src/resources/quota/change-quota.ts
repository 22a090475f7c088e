import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reconciled } from '@lcm/domain/quota/booking-ledger'
import type { BookingLedger, Quota } from '@lcm/domain/quota/quota'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { changeDocument, type DocumentChange } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'

const quotaTarget = (api: Api, id: string) => ({ collection: api.quotas, id, noun: 'quota' })

/** Changes the quota of a person by compare-and-set, and creates it first if needed. Null writes nothing. */
export async function changeQuota(
  api: Api,
  id: string,
  ifMatch: number | null,
  change: (quota: Quota, now: Instant) => DocumentChange<Quota> | null,
): Promise<Quota> {
  if ((await api.quotas.get(id)) === null) {
    const now = toInstant(api.clock.now())
    // A concurrent writer may insert it first; either is empty.
    await api.quotas.insert({ id, version: 1, created_at: now, updated_at: now, given: {}, ledger: {} })
  }
  return changeDocument(quotaTarget(api, id), api.clock, ifMatch, change)
}

/** Gives the limits and bookings of a person to another one, whose own limits win. After a crash it can be repeated. */
export async function moveQuota(api: Api, from: string, into: string, actor: Actor): Promise<void> {
  const moved = await api.quotas.get(from)
  if (moved === null) return
  await changeQuota(api, into, null, (quota, now) => {
    const given = { ...moved.given, ...quota.given }
    const isSame = JSON.stringify(given) === JSON.stringify(quota.given)
    const entries = isSame ? [] : [auditEntry(actor, 'patch', now, { before: quota.given, after: given })]
    return { document: { ...quota, given, ledger: { ...moved.ledger, ...quota.ledger } }, entries }
  })
  // After a booking at the same time it stays, for the next run.
  await api.quotas.remove(moved)
}

/** For a person that was removed. A concurrent booking finds its entry gone and is not made. */
export async function removeQuota(api: Api, owner: string): Promise<void> {
  const quota = await api.quotas.get(owner)
  if (quota !== null) await api.quotas.remove(quota)
}

/** The open sessions of a person, and those of the ledger that are not over there: null where there is none. */
export async function sessionsOf(
  api: Api,
  owner: string,
  ledger: BookingLedger,
): Promise<ReadonlyMap<string, LabletSession | null>> {
  const open = await listAll(api.sessions, { where: { owner, is_over: 'no' } })
  return withLedgerSessions(api, ledger, open)
}

async function withLedgerSessions(
  api: Api,
  ledger: BookingLedger,
  open: readonly LabletSession[],
): Promise<ReadonlyMap<string, LabletSession | null>> {
  const sessions = new Map<string, LabletSession | null>(open.map(session => [session.id, session]))
  for (const [id, { is_over }] of Object.entries(ledger))
    if (!is_over && !sessions.has(id)) sessions.set(id, await api.sessions.get(id))
  return sessions
}

/** Finishes what crashes left in ledgers, and closes the entries of ended sessions. */
export async function maintainQuotas(api: Api): Promise<void> {
  const quotas = await listAll(api.quotas)
  if (quotas.length === 0) return
  const open = new Map<string, LabletSession[]>(quotas.map(({ id }) => [id, []]))
  for (const session of await listAll(api.sessions, { where: { is_over: 'no' } }))
    open.get(session.owner)?.push(session)
  for (const { id, ledger } of quotas) {
    const sessions = await withLedgerSessions(api, ledger, open.get(id) ?? [])
    const corrected = (current: BookingLedger, now: Instant) => {
      const next = reconciled(current, sessions, now)
      return isSame(next, current) ? null : next
    }
    // Most ledgers are correct, and each change reads the document again.
    if (corrected(ledger, toInstant(api.clock.now())) === null) continue
    const correct = (current: Quota, now: Instant) => {
      const next = corrected(current.ledger, now)
      return next === null ? null : { document: { ...current, ledger: next }, entries: [] }
    }
    await nullOnConflict(changeDocument(quotaTarget(api, id), api.clock, null, correct))
  }
}

const isSame = (a: BookingLedger, b: BookingLedger): boolean => JSON.stringify(a) === JSON.stringify(b)

import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { reason } from '@lcm/domain/reason'
import { canServeLabs } from '@lcm/domain/session/decide-session'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { sessionHealth } from '@lcm/domain/session/session-health'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { deprecateAllReplaced } from '../definition/deprecate-replaced-versions.ts'
import { deleteUnlessBookable, isReusable } from '../lab/lab-cleanup.ts'
import { orphanLabs } from '../lab/mark-orphan-labs.ts'
import { listAll, listCreatedBefore } from '../list-documents.ts'
import { maintainQuotas } from '../quota/change-quota.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { changeSession } from './change-session.ts'
import { cleanUpSession, releaseReservation } from './session-cleanup.ts'

/** The controller ends a session in time; this covers its absence. */
export const EXPIRY_GRACE_MS = 5 * 60_000
/** Longer than any assignment takes. */
const ASSIGNMENT_MS_MAX = 60_000

/** Finishes what crashes and silent controllers left of sessions. Any number of replicas may run it at once. */
export async function maintainSessions(api: Api, signal: AbortSignal): Promise<void> {
  const steps = [
    expireOverdue,
    refreshHealth,
    deprecateAllReplaced,
    releaseStaleReservations,
    cleanUpLabs,
    clearWantedBy,
    maintainQuotas,
  ]
  for (const step of steps) if (!signal.aborted) await step(api)
}

const EXPIRING: ReadonlySet<LabletSession['status']> = new Set([
  'PENDING',
  'SCHEDULED',
  'INSTANTIATING',
  'READY',
  'RUNNING',
])

async function expireOverdue(api: Api): Promise<void> {
  const isOverdue = ({ status, timeslot }: LabletSession): boolean =>
    EXPIRING.has(status) && toMs(timeslot.end) + EXPIRY_GRACE_MS <= api.clock.now()
  for (const { id, ...rest } of await listAll(api.sessions, { where: { is_over: 'no' } })) {
    if (!isOverdue({ id, ...rest })) continue
    const change = (session: LabletSession) =>
      isOverdue(session)
        ? { session: { ...session, status: 'EXPIRED' as const }, because: reason('ended_by_housekeeping') }
        : null
    await nullOnConflict(changeSession(api, id, asSystem(id), change))
  }
}

/** A session that waits becomes late although nothing changes it. */
async function refreshHealth(api: Api): Promise<void> {
  const isOld = (session: LabletSession): boolean =>
    sessionHealth(session, api.clock.now()).status !== session.health.status
  for (const session of await listAll(api.sessions, { where: { is_over: 'no' } }))
    if (isOld(session))
      await nullOnConflict(
        changeSession(api, session.id, asSystem(session.id), current => (isOld(current) ? { session: current } : null)),
      )
}

/** Releases reservations without a session. A recent one may belong to an assignment in progress. */
async function releaseStaleReservations(api: Api): Promise<void> {
  for (const worker of await listAll(api.workers, { where: { is_reserved: 'yes' } }))
    for (const [id, { since }] of Object.entries(worker.reservations))
      if (api.clock.now() - toMs(since) > ASSIGNMENT_MS_MAX) await releaseReservation(api, worker, id)
}

/** Cleans up labs of terminated machines, of ended or moved sessions, and labs that no session can reuse. */
async function cleanUpLabs(api: Api): Promise<void> {
  const labs = await listAll(api.labs, { where: { is_gone: 'no' } })
  const workers = new Map<string, Worker>()
  for (const id of new Set(labs.map(lab => lab.worker_id))) {
    const worker = await api.workers.get(id)
    if (worker === null || worker.status === 'TERMINATED') await orphanLabs(api, id)
    else workers.set(id, worker)
  }
  await cleanUpBoundLabs(
    api,
    labs.filter(lab => lab.session_id !== null && workers.has(lab.worker_id)),
  )
  for (const lab of labs) {
    const worker = workers.get(lab.worker_id)
    // A lab can't be removed while its worker serves no labs; on a stopped worker it stays.
    if (worker !== undefined && canServeLabs(worker) && isReusable(lab)) await deleteUnlessBookable(api, lab)
  }
}

async function cleanUpBoundLabs(api: Api, left: readonly LabRecord[]): Promise<void> {
  for (const id of new Set(left.flatMap(lab => lab.session_id ?? []))) {
    const session = await api.sessions.get(id)
    const isOwn = (lab: { id: string }) =>
      session !== null && !isFinal(session.status) && session.lab_record_id === lab.id
    if (left.some(lab => lab.session_id === id && !isOwn(lab))) await cleanUpSession(api, id)
  }
}

/** Sessions that are placed or over don't wait for a worker any more: it may be stopped when it is idle. */
async function clearWantedBy(api: Api): Promise<void> {
  for (const worker of await listAll(api.workers, { where: { is_wanted: 'yes' } })) {
    const waiting = new Set<string>()
    for (const id of worker.wanted_by) if ((await api.sessions.get(id))?.status === 'PENDING') waiting.add(id)
    const without = (current: Worker) => {
      const wanted_by = current.wanted_by.filter(id => waiting.has(id) || !worker.wanted_by.includes(id))
      return wanted_by.length === current.wanted_by.length ? null : { worker: { ...current, wanted_by } }
    }
    await nullOnConflict(changeWorker(api, asSystem(worker.id), without))
  }
}

/** Deletes sessions and labs that ended this many days ago. */
export async function deleteFinished(api: Api, days: number): Promise<void> {
  const before = toInstant(api.clock.now() - days * 86_400_000)
  for (const session of await listCreatedBefore(api.sessions, before, { where: { is_over: 'yes' } })) {
    if (session.entered_status_at >= before) continue
    await cleanUpSession(api, session.id)
    await api.sessions.remove(session)
  }
  for (const lab of await listCreatedBefore(api.labs, before, { where: { is_gone: 'yes' } }))
    if (lab.updated_at < before) await api.labs.remove(lab)
}

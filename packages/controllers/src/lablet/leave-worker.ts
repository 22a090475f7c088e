import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { SessionChanges } from '@lcm/domain/session/decide-session'
import { isUp } from '@lcm/domain/session/lablet-session'
import { fencedWrite } from '../kit/fenced-write.ts'
import { reportLab } from './api-calls.ts'
import { recordOf, type SessionObservation } from './observe.ts'
import type { SessionReconcile } from './report.ts'

/**
 * Releases the capacity or schedules the deletion of the lab before a session leaves its worker. Returns the new version. A lab with
 * work in it is deleted by the API, only after its session has left.
 */
export async function leaveWorker(
  context: SessionReconcile,
  { worker }: SessionObservation,
  changes: SessionChanges,
): Promise<number> {
  const { session } = context
  const isLeft = changes.worker_id === null
  const endsWithoutLab = changes.status === 'TERMINATED' && session.status !== 'STOPPED'
  if (session.worker_id === null || isUp(session.status) || !(isLeft || endsWithoutLab)) return session.version
  const mayHaveLab = isLeft && worker !== null && worker.status !== 'TERMINATED'
  if (!mayHaveLab)
    return releaseCapacity(context, isLeft ? 'the worker is gone' : 'the session ended before it had a lab')
  // Its capacity stays reserved until a scan has seen the lab gone.
  await scheduleLabDeletion(context, reason('session_left_worker', { worker: worker.name }))
  return session.version
}

async function releaseCapacity(
  { client, election, session, epoch, signal }: SessionReconcile,
  reason: string,
): Promise<number> {
  const call = { params: { id: session.id }, body: { reason }, epoch, signal }
  return (await fencedWrite(election, () => client.call('releaseSession', call))).version
}

export async function scheduleLabDeletion(context: SessionReconcile, because: Reason): Promise<void> {
  const record = await recordOf(context)
  if (record === null || record.pending_action?.action === 'delete') return
  const at = toInstant(context.clock.now())
  const pending_action = { action: 'delete', by: 'lablet-controller', at, attempts: 0, error: null } as const
  await reportLab(context, record.id, { changes: { pending_action }, action: 'delete', because })
}

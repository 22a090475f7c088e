import type { CmlLab } from '@lcm/cloud/cml-labs'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { reason } from '@lcm/domain/reason'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { fetchSession, labsOnRecord, reportLab } from '../api-calls.ts'
import type { LabletDependencies } from '../dependencies.ts'
import { isIdleState } from './lab-teardown.ts'
import { isOurs, isStray, sessionInTitle } from './lab-titles.ts'

type Parts = Pick<LabletDependencies, 'client' | 'election' | 'clock'>

/** A worker and the labs that its scan found. */
export interface ScannedWorker {
  readonly worker: Worker
  readonly labs: readonly CmlLab[]
  readonly epoch: number
  readonly signal: AbortSignal
  /** The CML user that owns labs of LCM. */
  readonly ourName: string
}

/** Schedules the deletion of labs that appeared after their session had ended. */
export async function deleteStrays({ client, election, clock }: Parts, seen: ScannedWorker): Promise<void> {
  const { worker, epoch, signal, ourName } = seen
  const named = seen.labs.filter(({ title }) => sessionInTitle(title) !== null)
  if (named.length === 0) return
  const records = await labsOnRecord(client, { worker_id: worker.id }, signal)
  for (const lab of named) {
    const record = records.find(({ lab_id }) => lab_id === lab.lab_id)
    if (record === undefined || record.session_id !== null) continue
    const session = await fetchSession(client, sessionInTitle(lab.title) ?? '', signal)
    if (session === null || !isStray(lab, { record, session, ourName })) continue
    const at = toInstant(clock.now())
    const pending_action = { action: 'delete', by: 'lablet-controller', at, attempts: 0, error: null } as const
    const because = reason('lab_of_ended_session', { session_id: session.id })
    await reportLab({ client, election, epoch, signal }, record.id, {
      changes: { pending_action },
      action: 'delete',
      because,
    })
  }
}

/** Releases capacity that a session left behind once its lab is seen stopped or gone. */
export async function releaseQuarantined({ client, election }: Parts, seen: ScannedWorker): Promise<number> {
  const { worker, labs, epoch, signal, ourName } = seen
  let released = 0
  for (const id of Object.keys(worker.reservations)) {
    const session = await fetchSession(client, id, signal)
    if (session === null || (!isFinal(session.status) && session.worker_id === worker.id)) continue
    const records = await labsOnRecord(client, { worker_id: worker.id, session_id: id }, signal)
    if (!labs.filter(isOf(session, records, ourName)).every(lab => isIdleState(lab.state))) continue
    const body = { reason: 'a scan found the lab stopped or gone' }
    await fencedWrite(election, () => client.call('releaseSession', { params: { id }, body, epoch, signal }))
    released += 1
  }
  return released
}

const isOf = (session: LabletSession, records: readonly LabRecord[], ourName: string) => (lab: CmlLab) =>
  isOurs(lab, session, ourName) || records.some(({ lab_id }) => lab_id === lab.lab_id)

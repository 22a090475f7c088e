import type { BodyInput } from '@lcm/contract/routes'
import type { DecisionNote } from '@lcm/domain/journal-records'
import type { Reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Meter, ReconcileContext } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { fencedWrite } from '../kit/fenced-write.ts'
import { type Counters, counters } from '../kit/metrics.ts'
import type { Writer } from './api-calls.ts'

const COUNTERS = {
  sessions_instantiated: 'sessions whose instantiation began',
  sessions_ready: 'sessions that became ready',
  sessions_stopped: 'sessions that were torn down',
  labs_imported: 'labs that were imported',
  labs_deleted: 'labs that were deleted',
  labs_scanned: 'lab scans of workers',
  actions_done: 'requested lab actions that completed',
  syncs: 'topologies that were fetched',
} as const

export type LabletCounters = Counters<keyof typeof COUNTERS>

export const labletCounters = (meter: Meter): LabletCounters => counters(meter, 'lablet_controller', COUNTERS)

export type ReportedChanges = BodyInput<'reportSession'>['changes']

/** One reconcile of one session. */
export interface SessionReconcile extends ReconcileContext<LabletSession>, Writer {
  readonly session: LabletSession
  readonly clock: Clock
  readonly startedMs: number
}

/** A lab must not start yet if another one has taken its capacity since the worker was read. */
const SUPERSEDING = ['version_mismatch', 'illegal_transition', 'no_capacity']

/** One fenced write; throws SupersededError when the session was changed since it was read. */
export function writeSession(
  context: SessionReconcile,
  changes: ReportedChanges,
  note: { action: string; because: Reason; version?: number },
): Promise<LabletSession> {
  const { client, election, epoch, signal, session } = context
  const body = { changes, decision: noteOf(context, note) }
  const call = { params: { id: session.id }, ifMatch: note.version ?? session.version, epoch, signal, body }
  return fencedWrite(election, () => client.call('reportSession', call), SUPERSEDING)
}

export function noteOf(context: SessionReconcile, note: { action: string; because: Reason }): DecisionNote {
  const { session, cause, clock, startedMs } = context
  return {
    action: note.action,
    because: note.because,
    cause: cause.slice(0, 200),
    seen: {
      version: session.version,
      status: session.status,
      desired_status: session.desired_status,
      worker: session.worker_id,
    },
    guards: [],
    outcome: '',
    duration_ms: Math.max(0, Math.round(clock.monotonic() - startedMs)),
  }
}

import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { HealthStatus } from '../health.ts'
import type { LabStatus } from '../lab/lab-record.ts'
import type { SessionStatus } from '../session/lablet-session.ts'
import type { WorkerStatus } from '../worker/worker.ts'

export type Tone = 'green' | 'orange' | 'blue' | 'red' | 'gray' | 'violet'
export type Status = WorkerStatus | SessionStatus | LabStatus | LabletDefinition['status'] | HealthStatus

/** A status has the same color for every kind of resource, in the console and in the terminal. */
const TONES: Readonly<Record<Status, Tone>> = {
  PENDING: 'orange',
  PROVISIONING: 'orange',
  STARTING: 'orange',
  RUNNING: 'green',
  DRAINING: 'blue',
  STOPPING: 'blue',
  STOPPED: 'gray',
  TERMINATING: 'red',
  TERMINATED: 'gray',
  FAILED: 'red',
  UNKNOWN: 'violet',
  SCHEDULED: 'blue',
  INSTANTIATING: 'orange',
  READY: 'green',
  EXPIRED: 'violet',
  ARCHIVED: 'gray',
  DEFINED: 'gray',
  BOOTED: 'green',
  WIPED: 'gray',
  DELETING: 'red',
  DELETED: 'gray',
  ORPHANED: 'violet',
  ERROR: 'red',
  PENDING_SYNC: 'orange',
  ACTIVE: 'green',
  DEPRECATED: 'gray',
  OK: 'green',
  DEGRADED: 'orange',
  DOWN: 'red',
}

export const toneOf = (status: Status): Tone => TONES[status]

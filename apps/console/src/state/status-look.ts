import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { LabStatus } from '@lcm/domain/lab/lab-record'
import type { SessionStatus } from '@lcm/domain/session/lablet-session'
import type { WorkerStatus } from '@lcm/domain/worker/worker'

export type Tone = 'green' | 'orange' | 'blue' | 'red' | 'grey' | 'violet'
export type Status = WorkerStatus | SessionStatus | LabStatus | LabletDefinition['status']

/** Shapes as well as tones: colour alone never tells two apart. */
export type StatusShape =
  | 'dashed-ring'
  | 'quarter'
  | 'play'
  | 'done'
  | 'ring'
  | 'down'
  | 'dashed-square'
  | 'square'
  | 'crossed-ring'
  | 'cross'
  | 'alarm'
  | 'question'

interface StatusLook {
  readonly tone: Tone
  readonly shape: StatusShape
}

const look = (tone: Tone, shape: StatusShape): StatusLook => ({ tone, shape })

/** A name means the same for everything that has it. */
const LOOKS: Readonly<Record<Status, StatusLook>> = {
  PENDING: look('orange', 'dashed-ring'),
  PROVISIONING: look('orange', 'quarter'),
  STARTING: look('orange', 'play'),
  RUNNING: look('green', 'done'),
  DRAINING: look('blue', 'down'),
  STOPPING: look('blue', 'dashed-square'),
  STOPPED: look('grey', 'square'),
  TERMINATING: look('red', 'crossed-ring'),
  TERMINATED: look('grey', 'cross'),
  FAILED: look('red', 'alarm'),
  UNKNOWN: look('violet', 'question'),
  SCHEDULED: look('blue', 'quarter'),
  INSTANTIATING: look('orange', 'play'),
  READY: look('green', 'ring'),
  EXPIRED: look('violet', 'down'),
  ARCHIVED: look('grey', 'done'),
  DEFINED: look('grey', 'dashed-ring'),
  BOOTED: look('green', 'done'),
  WIPED: look('grey', 'ring'),
  DELETING: look('red', 'crossed-ring'),
  DELETED: look('grey', 'cross'),
  ORPHANED: look('violet', 'question'),
  ERROR: look('red', 'alarm'),
  PENDING_SYNC: look('orange', 'dashed-ring'),
  ACTIVE: look('green', 'done'),
  DEPRECATED: look('grey', 'down'),
}

export const lookOf = (status: Status): StatusLook => LOOKS[status]
export const toneOf = (status: Status): Tone => LOOKS[status].tone

import type { Status } from '@lcm/domain/text/status-tone'

/** Statuses differ in shape as well as in tone: color alone must never carry a meaning. */
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
  | 'warning'
  | 'question'

const SHAPES: Readonly<Record<Status, StatusShape>> = {
  PENDING: 'dashed-ring',
  PROVISIONING: 'quarter',
  STARTING: 'play',
  RUNNING: 'done',
  DRAINING: 'down',
  STOPPING: 'dashed-square',
  STOPPED: 'square',
  TERMINATING: 'crossed-ring',
  TERMINATED: 'cross',
  FAILED: 'alarm',
  UNKNOWN: 'question',
  SCHEDULED: 'quarter',
  INSTANTIATING: 'play',
  READY: 'ring',
  EXPIRED: 'down',
  ARCHIVED: 'done',
  DEFINED: 'dashed-ring',
  BOOTED: 'done',
  WIPED: 'ring',
  DELETING: 'crossed-ring',
  DELETED: 'cross',
  ORPHANED: 'question',
  ERROR: 'alarm',
  PENDING_SYNC: 'dashed-ring',
  ACTIVE: 'done',
  DEPRECATED: 'down',
  OK: 'done',
  DEGRADED: 'warning',
  DOWN: 'alarm',
}

export const shapeOf = (status: Status): StatusShape => SHAPES[status]

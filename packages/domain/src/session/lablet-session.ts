import { z } from 'zod'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'
import { LabNeeds } from '../lab/topology.ts'
import { Condition } from '../worker/worker.ts'

export const SESSION_STATUSES = [
  'PENDING',
  'SCHEDULED',
  'INSTANTIATING',
  'READY',
  'RUNNING',
  'STOPPING',
  'STOPPED',
  'EXPIRED',
  'ARCHIVED',
  'TERMINATED',
] as const
export const SessionStatus = z.enum(SESSION_STATUSES)
export type SessionStatus = z.infer<typeof SessionStatus>

/** Where a session may go from each status. The API refuses everything else at the write. */
const MOVES: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  PENDING: ['SCHEDULED', 'EXPIRED', 'TERMINATED'],
  SCHEDULED: ['INSTANTIATING', 'PENDING', 'EXPIRED', 'TERMINATED'],
  INSTANTIATING: ['READY', 'PENDING', 'STOPPING', 'EXPIRED'],
  READY: ['RUNNING', 'STOPPING', 'EXPIRED'],
  RUNNING: ['STOPPING', 'EXPIRED'],
  EXPIRED: ['STOPPING', 'TERMINATED'],
  STOPPING: ['STOPPED'],
  STOPPED: ['ARCHIVED', 'TERMINATED'],
  ARCHIVED: [],
  TERMINATED: [],
}
export const sessionMovesFrom = (from: SessionStatus): readonly SessionStatus[] => MOVES[from]
export const canMoveSession = (from: SessionStatus, to: SessionStatus): boolean => MOVES[from].includes(to)
export const isFinal = (status: SessionStatus): boolean => MOVES[status].length === 0

/** Whether it has, or is about to have, a place on a worker. */
export const isLive = (status: SessionStatus): boolean =>
  status === 'SCHEDULED' ||
  status === 'INSTANTIATING' ||
  status === 'READY' ||
  status === 'RUNNING' ||
  status === 'EXPIRED' ||
  status === 'STOPPING'

/** Its end is wanted and nothing has begun it: its author waits for a first sign. */
export const isEndUnserved = (status: string, desired: string): boolean =>
  desired === 'TERMINATED' && ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING'].includes(status)

export const STEP_STATES = ['pending', 'running', 'completed', 'skipped', 'failed', 'blocked'] as const

export const Step = z.object({
  status: z.enum(STEP_STATES),
  attempts: z.int().nonnegative(),
  started_at: Instant.nullable(),
  ended_at: Instant.nullable(),
  /** What later steps need of it. */
  output: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  error: z.string().nullable(),
})
export type Step = z.infer<typeof Step>
export const UNTOUCHED: Step = {
  status: 'pending',
  attempts: 0,
  started_at: null,
  ended_at: null,
  output: {},
  error: null,
}

export const PIPELINES = ['instantiate', 'teardown'] as const
export const Pipeline = z.object({
  name: z.enum(PIPELINES),
  /** Grows with every new try of the whole. */
  attempt: z.int().positive(),
  steps: z.record(z.string(), Step),
})
export type Pipeline = z.infer<typeof Pipeline>

export const Access = z.object({
  name: z.string(),
  node: z.string(),
  protocol: z.string(),
  /** The port of the node itself, which tells what listens there; null for serial lines and screens. */
  inside: z.int().nullable().default(null),
  host: z.string(),
  port: z.int(),
})
export type Access = z.infer<typeof Access>

export const SESSION_HISTORY_MAX = 50
/** The condition that somebody stopped its lab while it was in use. */
export const LAB_STOPPED = 'LabStopped'

/** Somebody's lab for a while. */
export const LabletSession = z.object({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  /** By id, which stays the same when the name changes. */
  owner: z.string(),
  /** What its owner was called when it was booked. */
  owner_name: z.string().default(''),
  /** Somebody else's number for it; unique where given. */
  reservation_id: z.string().nullable(),
  definition: z.object({ id: z.string(), name: z.string(), version: z.string() }),
  /** What it takes, as its definition said when it was booked: what is reserved is what is given back. */
  needs: LabNeeds,
  timeslot: z.object({ start: Instant, end: Instant }),
  desired_status: z.enum(['RUNNING', 'TERMINATED']),
  desired_by: z.string(),
  desired_reason: z.string(),
  status: SessionStatus,
  entered_status_at: Instant,
  worker_id: z.string().nullable(),
  lab_record_id: z.string().nullable(),
  access: z.array(Access).max(500),
  pipeline: Pipeline.nullable(),
  /** Why it is not placed yet, and on whom it waits. */
  waiting_reason: z.string().nullable(),
  last_error: z.string().nullable(),
  conditions: z.array(Condition).max(20),
  state_history: z
    .array(z.object({ from: SessionStatus.nullable(), to: SessionStatus, at: Instant, because: z.string() }))
    .max(SESSION_HISTORY_MAX),
  applied_keys: z.array(z.string()).max(20).default([]),
  fence: Fence.default({}),
})
export type LabletSession = z.infer<typeof LabletSession>

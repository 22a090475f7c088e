import { z } from 'zod'
import { NOT_REVIEWED, SessionAdmission } from '../calendar/session-admission.ts'
import { documentFields } from '../document-fields.ts'
import { Fence } from '../fencing.ts'
import { HEALTHY, Health } from '../health.ts'
import { Instant } from '../instant.ts'
import { LabNeeds } from '../lab/topology.ts'
import { Reason } from '../reason.ts'
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
export const SessionStatus = z
  .enum(SESSION_STATUSES)
  .meta({ id: 'SessionStatus', description: 'The status of a session.' })
export type SessionStatus = z.infer<typeof SessionStatus>

/** The allowed transitions. The API refuses all others at the write. */
const MOVES: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  PENDING: ['SCHEDULED', 'EXPIRED', 'TERMINATED'],
  SCHEDULED: ['INSTANTIATING', 'PENDING', 'EXPIRED', 'TERMINATED'],
  INSTANTIATING: ['READY', 'PENDING', 'STOPPING', 'EXPIRED'],
  READY: ['RUNNING', 'PENDING', 'STOPPING', 'EXPIRED'],
  RUNNING: ['PENDING', 'STOPPING', 'EXPIRED'],
  EXPIRED: ['STOPPING', 'TERMINATED'],
  STOPPING: ['STOPPED'],
  STOPPED: ['ARCHIVED', 'TERMINATED'],
  ARCHIVED: [],
  TERMINATED: [],
}
export const sessionMovesFrom = (from: SessionStatus): readonly SessionStatus[] => MOVES[from]
export const canMoveSession = (from: SessionStatus, to: SessionStatus): boolean => MOVES[from].includes(to)
export const isFinal = (status: SessionStatus): boolean => MOVES[status].length === 0

/** Whether the session has a lab that its owner can use while its worker serves. */
export const isUp = (status: SessionStatus | null): boolean => status === 'READY' || status === 'RUNNING'

const ENDED: ReadonlySet<SessionStatus> = new Set(['EXPIRED', 'STOPPING', 'STOPPED', 'ARCHIVED', 'TERMINATED'])
/** Whether nothing but the removal of its lab is left to do. */
export const hasEnded = (status: SessionStatus): boolean => ENDED.has(status)

/** Whether the session was canceled or has ended. */
export const isOver = ({ status, desired_status }: Pick<LabletSession, 'status' | 'desired_status'>): boolean =>
  desired_status === 'TERMINATED' || hasEnded(status)

/** Whether the session has, or is about to have, a worker. */
export const isLive = (status: SessionStatus): boolean =>
  status === 'SCHEDULED' ||
  status === 'INSTANTIATING' ||
  status === 'READY' ||
  status === 'RUNNING' ||
  status === 'EXPIRED' ||
  status === 'STOPPING'

/** Whether the session is canceled and no controller has acted on that yet. */
export const isEndUnserved = (status: string, desired: string): boolean =>
  desired === 'TERMINATED' && ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING'].includes(status)

export const STEP_STATES = ['pending', 'running', 'completed', 'skipped', 'failed', 'blocked'] as const

export const Step = z
  .object({
    status: z.enum(STEP_STATES).meta({ description: 'The status of the step.', example: 'completed' }),
    attempts: z.int().nonnegative().meta({ description: 'The number of attempts.', example: 1 }),
    started_at: Instant.nullable().meta({
      description: 'When the first attempt started.',
      example: '2026-01-02T03:04:05.678Z',
    }),
    ended_at: Instant.nullable().meta({
      description: 'When it ended; null while it is in progress.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    output: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).meta({
      description: 'Values that later steps use.',
      example: { lab_id: 'b3f5c0aa-6d1e-4c1f-9c5f-0f2f7f6f7e11' },
    }),
    error: z.string().nullable().meta({ description: 'The latest error; null if there is none.', example: null }),
  })
  .meta({ id: 'Step', description: 'One step of a pipeline.' })
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
export const Pipeline = z
  .object({
    name: z.enum(PIPELINES).meta({ description: 'The name of the pipeline.', example: 'instantiate' }),
    attempt: z.int().positive().meta({ description: 'Grows with every retry of the whole pipeline.', example: 1 }),
    steps: z.record(z.string(), Step).meta({ description: 'The steps by name.' }),
  })
  .meta({ id: 'Pipeline', description: 'The steps that start or tear down a lab.' })
export type Pipeline = z.infer<typeof Pipeline>

export const Access = z
  .object({
    name: z.string().meta({ description: 'The name of the port.', example: 'r1_serial' }),
    node: z.string().meta({ description: 'The label of the node.', example: 'r1' }),
    protocol: z.string().meta({ description: 'The protocol.', example: 'serial' }),
    /** The port of the node itself, which identifies its service; null for serial lines and screens. */
    inside: z
      .int()
      .nullable()
      .default(null)
      .meta({ description: 'The port on the node; null for serial lines and screens.', example: null }),
    host: z.string().meta({ description: 'The host to connect to.', example: '203.0.113.17' }),
    port: z.int().meta({ description: 'The port to connect to.', example: 2000 }),
  })
  .meta({ id: 'Access', description: 'An address that leads to a node.' })
export type Access = z.infer<typeof Access>

export const SESSION_HISTORY_MAX = 50
/** The condition of a lab that is stopped while its session is up. */
export const LAB_STOPPED = 'LabStopped'
/** The condition of a session that is up while its worker serves no labs. */
export const WORKER_UNAVAILABLE = 'WorkerUnavailable'

/** Saving the work of a session: the request that is not served yet, and the latest attempt. */
export const SessionSave = z
  .object({
    requested_at: Instant.nullable().meta({
      description: 'When a save was requested; null when no request waits.',
      example: null,
    }),
    requested_by: z.string().nullable().meta({ description: 'The caller who requested it.', example: null }),
    tried_at: Instant.nullable().meta({ description: 'When the latest attempt ended; null before the first.' }),
    outcome: Reason.nullable().meta({ description: 'The outcome of the latest attempt.' }),
    save_id: z
      .string()
      .nullable()
      .meta({ description: 'The newest save of the session; null if there is none.', example: 'sv-5k1r2m3n8pq4t' }),
  })
  .meta({ id: 'SessionSave', description: 'The state of saving the work of a session.' })
export type SessionSave = z.infer<typeof SessionSave>
export const NEVER_SAVED: SessionSave = {
  requested_at: null,
  requested_by: null,
  tried_at: null,
  outcome: null,
  save_id: null,
}

/** A move that a person requested, while LCM saves the work in the lab. */
export const SessionMove = z
  .object({
    requested_at: Instant.meta({ description: 'When the move was requested.' }),
    requested_by: z.string().meta({ description: 'The caller who requested it.', example: 'oidc:jane' }),
    worker: z.string().meta({ description: 'The name of the worker that it leaves.', example: 'nested-1' }),
    reason: z.string().meta({ description: 'The reason given; may be empty.', example: 'its CML is slow' }),
  })
  .meta({ id: 'SessionMove', description: 'A move to another worker that waits for a last save.' })
export type SessionMove = z.infer<typeof SessionMove>

export const LabletSession = z
  .object({
    ...documentFields('ls-5k1r2m3n8pq4t'),
    owner: z
      .string()
      .meta({ description: 'The id of the owner; stays the same when the name changes.', example: 'oidc:jane' }),
    owner_name: z
      .string()
      .default('')
      .meta({ description: 'The name of the owner at the time of booking.', example: 'Jane' }),
    reservation_id: z.string().nullable().meta({
      description: 'The reservation number of another system; unique among the sessions of its owner.',
      example: null,
    }),
    definition: z
      .object({
        id: z.string().meta({ description: 'The id of the definition.', example: 'ld-5k1r2m3n8pq4t' }),
        name: z.string().meta({ description: 'The name of the definition.', example: 'bgp-basics' }),
        version: z.string().meta({ description: 'The version of the definition.', example: '1.0.0' }),
      })
      .meta({ description: 'The definition at the time of booking. Later versions do not affect the session.' }),
    /** The needs of the definition at the time of booking, so that what was reserved is what is released. */
    needs: LabNeeds.meta({ description: 'The capacity that it needs, from the definition at the time of booking.' }),
    timeslot: z
      .object({ start: Instant.meta({ description: 'The start.' }), end: Instant.meta({ description: 'The end.' }) })
      .meta({
        description: 'The booked time.',
        example: { start: '2026-01-02T03:04:05.678Z', end: '2026-01-02T04:04:05.678Z' },
      }),
    admission: SessionAdmission.default(NOT_REVIEWED).meta({ description: 'Whether its capacity is promised.' }),
    desired_status: z
      .enum(['RUNNING', 'TERMINATED'])
      .meta({ description: 'The requested status.', example: 'RUNNING' }),
    desired_by: z.string().meta({ description: 'The caller who requested it.', example: 'oidc:jane' }),
    desired_reason: z.string().meta({ description: 'The reason for the request.', example: 'booked' }),
    status: SessionStatus.meta({ description: 'The observed status. Only controllers change it.', example: 'RUNNING' }),
    entered_status_at: Instant.meta({
      description: 'Since when it has this status.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    worker_id: z
      .string()
      .nullable()
      .meta({ description: 'The worker that it is placed on; null if there is none.', example: 'w-5k1r2m3n8pq4t' }),
    lab_record_id: z
      .string()
      .nullable()
      .meta({ description: 'Its lab; null if there is none.', example: 'lr-5k1r2m3n8pq4t' }),
    access: z.array(Access).max(500).meta({ description: 'Addresses that lead to its nodes, once they are up.' }),
    pipeline: Pipeline.nullable().meta({ description: 'The progress of starting or tearing down its lab.' }),
    /** Why it is not placed yet, and what it waits for. */
    waiting_reason: Reason.nullable().meta({ description: 'Why it is not placed yet.', example: null }),
    last_error: z.string().nullable().meta({ description: 'The latest error; null if there is none.', example: null }),
    conditions: z
      .array(Condition)
      .max(20)
      .meta({ description: 'Statements that hold or do not, at most one of each type.' }),
    state_history: z
      .array(
        z.object({
          from: SessionStatus.nullable().meta({
            description: 'The status before; null for the first.',
            example: 'READY',
          }),
          to: SessionStatus.meta({ description: 'The status after.', example: 'RUNNING' }),
          at: Instant.meta({ description: 'When it changed.', example: '2026-01-02T03:09:41.002Z' }),
          because: Reason.meta({ description: 'The reason.' }),
        }),
      )
      .max(SESSION_HISTORY_MAX)
      .meta({ description: 'The latest status changes, oldest first.' }),
    health: Health.default(HEALTHY).meta({ description: 'Whether its owner can use it, with the reason.' }),
    restore_from: z.string().nullable().default(null).meta({
      description: 'The save that its lab is created from; null for the topology of the definition.',
      example: null,
    }),
    save: SessionSave.default(NEVER_SAVED).meta({ description: 'The state of saving its work.' }),
    move: SessionMove.nullable().default(null).meta({
      description:
        'A requested move that waits for a last save of its work, for a minute at most; null when none waits.',
      example: null,
    }),
    applied_keys: z
      .array(z.string())
      .max(20)
      .default([])
      .meta({ description: 'Hashes of the latest applied requests, to recognize a repeated one.' }),
    fence: Fence.default({}).meta({ description: 'The highest epoch of each service that has written this document.' }),
  })
  .meta({ id: 'LabletSession', description: 'A booked lab.' })
export type LabletSession = z.infer<typeof LabletSession>

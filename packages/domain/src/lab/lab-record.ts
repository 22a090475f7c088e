import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'

export const LAB_STATUSES = [
  'DEFINED',
  'STARTING',
  'BOOTED',
  'STOPPING',
  'STOPPED',
  'WIPED',
  'DELETING',
  'DELETED',
  'ORPHANED',
  'ERROR',
] as const
export const LabStatus = z.enum(LAB_STATUSES).meta({ id: 'LabStatus', description: 'The status of a lab.' })
export type LabStatus = z.infer<typeof LabStatus>

export const LAB_ACTIONS = ['start', 'stop', 'wipe', 'delete'] as const
export const LabAction = z.enum(LAB_ACTIONS).meta({ id: 'LabAction', description: 'An operation on a lab.' })
export type LabAction = z.infer<typeof LabAction>

export const LAB_RUNS_MAX = 50

export const LabRun = z
  .object({
    started_at: Instant.meta({ description: 'When it started.', example: '2026-01-02T03:04:05.678Z' }),
    stopped_at: Instant.nullable().meta({ description: 'When it stopped; null while it runs.', example: null }),
    session_id: z
      .string()
      .nullable()
      .meta({ description: 'The session that it ran for.', example: 'ls-5k1r2m3n8pq4t' }),
    reason: Reason.meta({ description: 'Why it started or stopped.' }),
  })
  .meta({ id: 'LabRun', description: 'One period in which the lab ran.' })

/** One lab on one worker, of LCM or of a user. It outlives sessions. */
export const LabRecord = z
  .object({
    ...documentFields('lr-5k1r2m3n8pq4t'),
    worker_id: z.string().meta({ description: 'The worker that it is on.', example: 'w-5k1r2m3n8pq4t' }),
    lab_id: z.string().nullable().meta({
      description: 'The CML lab id; null until the lab is imported.',
      example: 'b3f5c0aa-6d1e-4c1f-9c5f-0f2f7f6f7e11',
    }),
    title: z.string().meta({ description: 'The title in CML.', example: 'BGP basics ls-5k1r2m3n8pq4t' }),
    owner: z.string().nullable().meta({ description: 'The owner in CML.', example: 'admin' }),
    source: z
      .enum(['IMPORT', 'DISCOVERY'])
      .meta({ description: '`IMPORT`: created by LCM; `DISCOVERY`: found on the worker.' }),
    definition_id: z
      .string()
      .nullable()
      .meta({ description: 'The definition that it was created from.', example: 'ld-5k1r2m3n8pq4t' }),
    status: LabStatus.meta({ description: 'The status.', example: 'BOOTED' }),
    raw_state: z.string().nullable().meta({ description: 'The state that CML last reported.', example: 'STARTED' }),
    node_count: z.int().nonnegative().meta({ description: 'The number of nodes.', example: 1 }),
    link_count: z.int().nonnegative().meta({ description: 'The number of links.', example: 0 }),
    nodes: z
      .array(
        z.object({
          label: z.string().meta({ description: 'The label of the node.', example: 'r1' }),
          node_definition: z.string().meta({ description: 'The node definition.', example: 'iol-xe' }),
          state: z.string().meta({ description: 'The state that CML last reported.', example: 'BOOTED' }),
        }),
      )
      .max(300)
      .meta({ description: 'The nodes with their last reported states.' }),
    ports: z
      .record(z.string(), z.int())
      .meta({ description: 'Ports of the worker that lead to the nodes, by name.', example: { r1_serial: 2000 } }),
    session_id: z
      .string()
      .nullable()
      .meta({ description: 'The session that it is for; null if there is none.', example: 'ls-5k1r2m3n8pq4t' }),
    pending_action: z
      .object({
        action: LabAction.meta({ description: 'The operation.' }),
        by: z.string().meta({ description: 'The caller who requested it.' }),
        at: Instant.meta({ description: 'When it was requested.' }),
        attempts: z.int().meta({ description: 'Failed attempts.' }),
        error: z.string().nullable().meta({ description: 'The error of the latest attempt.' }),
      })
      .nullable()
      .meta({ description: 'The requested operation that is not done yet.', example: null }),
    last_error: z.string().nullable().meta({ description: 'The latest error; null if there is none.', example: null }),
    runs: z.array(LabRun).max(LAB_RUNS_MAX).meta({ description: 'The latest periods in which it ran.' }),
    first_seen_at: Instant.meta({
      description: 'When it was first seen on the worker.',
      example: '2026-01-02T03:04:05.678Z',
    }),
    last_seen_at: Instant.meta({
      description: 'When it was last seen on the worker.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    /** When anything but `last_seen_at` changed; absent before the first change. */
    changed_at: Instant.optional().meta({
      description: 'When anything but `last_seen_at` last changed; absent if nothing did.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    applied_keys: z
      .array(z.string())
      .max(20)
      .default([])
      .meta({ description: 'Hashes of the latest applied requests, to recognize a repeated one.' }),
    fence: Fence.default({}).meta({ description: 'The highest epoch of each service that has written this document.' }),
  })
  .meta({ id: 'LabRecord', description: 'A lab on a worker, created by LCM or found there.' })
export type LabRecord = z.infer<typeof LabRecord>

export const changedAt = ({ changed_at, created_at }: LabRecord): Instant => changed_at ?? created_at

/**
 * The status for a state of CML. CML reports the same state for a wiped lab and for one that never ran, so a status that fits
 * stays. A change in progress stays until CML shows its end, and ERROR until the lab is seen stopped.
 */
export function statusOfLab(rawState: string, before: LabStatus | null): LabStatus {
  switch (rawState) {
    case 'DEFINED_ON_CORE':
      return before === 'WIPED' || before === 'DELETING' ? before : 'DEFINED'
    case 'STOPPED':
      return before === 'DELETING' ? before : 'STOPPED'
    case 'STARTED':
    case 'QUEUED':
      return before === 'STARTING' || isKeptWhileUp(before) ? before : 'BOOTED'
    case 'BOOTED':
      return isKeptWhileUp(before) ? before : 'BOOTED'
    default:
      return before ?? 'DEFINED'
  }
}

const isKeptWhileUp = (status: LabStatus | null): status is 'STOPPING' | 'DELETING' | 'ERROR' =>
  status === 'STOPPING' || status === 'DELETING' || status === 'ERROR'

export const isGone = (status: LabStatus): boolean => status === 'DELETED'
/** Whether the lab takes no capacity of its worker. */
export const isQuiet = (status: LabStatus): boolean =>
  status === 'STOPPED' || status === 'WIPED' || status === 'DEFINED' || status === 'DELETED' || status === 'ORPHANED'

/** A scan of all labs of a worker, as far as it concerns one recorded lab. */
export interface LabScan {
  readonly began_at: Instant
  /** Whether every lab was listed and read. */
  readonly is_complete: boolean
  /** Whether the lab was among them. */
  readonly isSeen: boolean
  /** Whether a session is about to import it, so that it need not be there yet. */
  readonly isAwaited: boolean
}

/** Whether the lab was seen since the scan began: then the scan is out of date. */
export const isOldNews = (scan: Pick<LabScan, 'began_at'>, { last_seen_at }: LabRecord): boolean =>
  scan.began_at <= last_seen_at

/**
 * The new status of a lab that a scan did not list: DELETED if that was requested, else ORPHANED. Null when the scan proves nothing.
 * This also confirms a deletion whose response was lost.
 */
export function statusOfMissing(lab: LabRecord, scan: LabScan): 'DELETED' | 'ORPHANED' | null {
  if (!scan.is_complete || scan.isSeen || isOldNews(scan, lab)) return null
  if (lab.status === 'DELETED' || lab.status === 'ORPHANED') return null
  if (lab.lab_id === null && scan.isAwaited) return null
  return lab.status === 'DELETING' || lab.pending_action?.action === 'delete' ? 'DELETED' : 'ORPHANED'
}

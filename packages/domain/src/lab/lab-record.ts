import { z } from 'zod'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'

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
export const LabStatus = z.enum(LAB_STATUSES)
export type LabStatus = z.infer<typeof LabStatus>

export const LAB_ACTIONS = ['start', 'stop', 'wipe', 'delete'] as const
export const LabAction = z.enum(LAB_ACTIONS)
export type LabAction = z.infer<typeof LabAction>

export const LAB_RUNS_MAX = 50

export const LabRun = z.object({
  started_at: Instant,
  stopped_at: Instant.nullable(),
  session_id: z.string().nullable(),
  reason: z.string().max(500),
})

/** One lab on one worker, ours or anybody's. It outlives sessions. */
export const LabRecord = z.object({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  worker_id: z.string(),
  /** CML's own id; null until it was imported. */
  lab_id: z.string().nullable(),
  title: z.string(),
  owner: z.string().nullable(),
  source: z.enum(['IMPORT', 'DISCOVERY']),
  definition_id: z.string().nullable(),
  status: LabStatus,
  /** CML's own word, as it was last seen. */
  raw_state: z.string().nullable(),
  node_count: z.int().nonnegative(),
  link_count: z.int().nonnegative(),
  /** Node labels with their states, as they were last seen. */
  nodes: z.array(z.object({ label: z.string(), node_definition: z.string(), state: z.string() })).max(300),
  ports: z.record(z.string(), z.int()),
  /** The session that it is for; at most one. */
  session_id: z.string().nullable(),
  pending_action: z
    .object({ action: LabAction, by: z.string(), at: Instant, attempts: z.int(), error: z.string().nullable() })
    .nullable(),
  last_error: z.string().nullable(),
  runs: z.array(LabRun).max(LAB_RUNS_MAX),
  first_seen_at: Instant,
  last_seen_at: Instant,
  /** When anything of it changed but that it was seen; absent while nothing has. */
  changed_at: Instant.optional(),
  /** Hashes of the last requests that changed it, so that a repeated one is known. */
  applied_keys: z.array(z.string()).max(20).default([]),
  fence: Fence.default({}),
})
export type LabRecord = z.infer<typeof LabRecord>

export const changedAt = ({ changed_at, created_at }: LabRecord): Instant => changed_at ?? created_at

/**
 * Our status for what CML says. It can't tell a wiped lab from one that never ran, so our own word stays where it fits; a change
 * that is under way stays so until CML shows its end, and a lab that could not be taken down until it is seen at rest.
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
/** Whether the lab takes no room on its worker. */
export const isQuiet = (status: LabStatus): boolean =>
  status === 'STOPPED' || status === 'WIPED' || status === 'DEFINED' || status === 'DELETED' || status === 'ORPHANED'

/** One look at all labs of a worker, as far as it concerns one that is on record. */
export interface LabScan {
  readonly began_at: Instant
  /** Whether every lab was listed and read. */
  readonly is_complete: boolean
  /** Whether the lab was among them. */
  readonly isSeen: boolean
  /** Whether a session is about to import it, so that it need not be there yet. */
  readonly isAwaited: boolean
}

/** Whether something was learned of a lab since the look began: then the look is old news. */
export const isOldNews = (scan: Pick<LabScan, 'began_at'>, { last_seen_at }: LabRecord): boolean =>
  scan.began_at <= last_seen_at

/**
 * What becomes of a lab that a look did not show: gone as it was meant to be, or lost. Null where the look says nothing of it.
 * A removal that nobody could confirm is confirmed by this.
 */
export function statusOfMissing(lab: LabRecord, scan: LabScan): 'DELETED' | 'ORPHANED' | null {
  if (!scan.is_complete || scan.isSeen || isOldNews(scan, lab)) return null
  if (lab.status === 'DELETED' || lab.status === 'ORPHANED') return null
  if (lab.lab_id === null && scan.isAwaited) return null
  return lab.status === 'DELETING' || lab.pending_action?.action === 'delete' ? 'DELETED' : 'ORPHANED'
}

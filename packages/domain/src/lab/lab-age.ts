import { type Instant, toMs } from '../instant.ts'
import { canServeLabs } from '../session/decide-session.ts'
import type { Worker } from '../worker/worker.ts'
import type { LabRecord } from './lab-record.ts'

/** While its worker serves labs, a record is confirmed at least once an hour, by a scan every 30 minutes. */
const CONFIRMED_MS_MAX = 2 * 3_600_000

/**
 * Since when the status of a lab is only a memory: its worker does not serve labs, or was not scanned for long. Null while it is
 * current, and for a lab that is gone. `worker` is null when the reader does not know it.
 */
export function unconfirmedSince(
  { status, last_seen_at }: Pick<LabRecord, 'status' | 'last_seen_at'>,
  worker: Worker | null,
  nowMs: number,
): Instant | null {
  if (status === 'DELETED' || status === 'ORPHANED') return null
  const isSilent = worker !== null && !canServeLabs(worker)
  return isSilent || nowMs - toMs(last_seen_at) > CONFIRMED_MS_MAX ? last_seen_at : null
}

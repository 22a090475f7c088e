import { unconfirmedSince } from '@lcm/domain/lab/lab-age'
import { changedAt, type LabRecord } from '@lcm/domain/lab/lab-record'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import type { Column } from '../terminal/table.ts'
import { BY_ID } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'

/** Says how old the status is when no scan confirms it. */
export function labStatusText(lab: LabRecord, worker: Worker | null, nowMs: number): string {
  const since = unconfirmedSince(lab, worker, nowMs)
  return since === null ? lab.status : `${lab.status}, last seen ${ageOf(since, nowMs)} ago`
}

export const labColumns = (nowMs: number, colors: Colors, names = BY_ID): readonly Column<LabRecord>[] => [
  { title: 'TITLE', text: lab => lab.title },
  { title: 'ID', text: lab => lab.id },
  {
    title: 'STATUS',
    text: lab => labStatusText(lab, names.find(lab.worker_id), nowMs),
    paint: (text, lab) => statusColor(lab.status, colors)(text),
  },
  { title: 'PENDING', text: lab => lab.pending_action?.action ?? '' },
  { title: 'WORKER', text: lab => names.of(lab.worker_id) },
  { title: 'SESSION', text: lab => lab.session_id ?? '' },
  { title: 'OWNER', text: lab => lab.owner ?? '' },
  { title: 'NODES', text: lab => String(lab.node_count) },
  { title: 'CHANGED', text: lab => ageOf(changedAt(lab), nowMs) },
  { title: 'LAST SEEN', text: lab => ageOf(lab.last_seen_at, nowMs) },
]

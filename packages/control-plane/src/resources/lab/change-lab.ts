import type { Instant } from '@lcm/domain/instant'
import { LAB_RUNS_MAX, type LabRecord, type LabStatus } from '@lcm/domain/lab/lab-record'
import { type Reason, reason } from '@lcm/domain/reason'
import { APPLIED_KEYS_MAX } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, type DocumentChange, refuseStale } from '../change-document.ts'
import { transitionEntry } from '../journal/entries.ts'

export type LabRequest<B = unknown> = Request<{ id: string }, unknown, B>
export type LabWriter = Pick<LabRequest, 'params' | 'actor' | 'ifMatch' | 'once'>

export interface LabChange {
  readonly lab: LabRecord
  readonly entries?: readonly NewEntry[]
  readonly because?: Reason
}

/** Every change of a lab record goes through here: runs and journal follow its status, and no request is applied twice. */
export function changeLab(
  api: Api,
  writer: LabWriter,
  change: (lab: LabRecord, now: Instant) => LabChange | null,
): Promise<LabRecord> {
  const target = { collection: api.labs, id: writer.params.id, noun: 'lab' }
  return changeDocument(target, api.clock, null, (current, now) => {
    // First, because an applied request has made its own If-Match stale.
    if (writer.once !== null && current.applied_keys.includes(writer.once.key)) return null
    refuseStale(current, writer.ifMatch)
    const changed = change(current, now)
    return changed === null ? null : completed(current, changed, writer, now)
  })
}

function completed(
  before: LabRecord,
  { lab: changed, entries = [], because = reason('not_given') }: LabChange,
  { actor, once }: LabWriter,
  now: Instant,
): DocumentChange<LabRecord> {
  const dated = isOther(changed, before) ? { ...changed, changed_at: now } : changed
  const lab =
    once === null ? dated : { ...dated, applied_keys: [...dated.applied_keys, once.key].slice(-APPLIED_KEYS_MAX) }
  if (lab.status === before.status) return { document: lab, entries }
  const move = transitionEntry({ from: before.status, to: lab.status, at: now, because }, actor.name)
  return {
    document: { ...lab, runs: runsAfter(before, lab, { at: now, reason: because }) },
    entries: [...entries, move],
  }
}

/** Whether more changed than the time and the writer of the last observation. */
const isOther = (a: LabRecord, b: LabRecord): boolean => JSON.stringify(essenceOf(a)) !== JSON.stringify(essenceOf(b))

const essenceOf = ({ last_seen_at: _, fence: __, ...essence }: LabRecord) => essence

const isUp = (status: LabStatus): boolean => status === 'STARTING' || status === 'BOOTED' || status === 'STOPPING'
const isDown = (status: LabStatus): boolean => !isUp(status) && status !== 'ERROR' && status !== 'DELETING'

/** A run starts when the lab comes up and ends when it is certainly down. */
function runsAfter(before: LabRecord, after: LabRecord, note: { at: Instant; reason: Reason }): LabRecord['runs'] {
  const { runs } = before
  const last = runs.at(-1)
  const isOpen = last !== undefined && last.stopped_at === null
  if (isUp(after.status) && !isOpen)
    return [
      ...runs,
      { started_at: note.at, stopped_at: null, session_id: after.session_id, reason: note.reason },
    ].slice(-LAB_RUNS_MAX)
  return isDown(after.status) && isOpen ? [...runs.slice(0, -1), { ...last, stopped_at: note.at }] : runs
}

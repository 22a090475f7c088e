import { toMs } from '@lcm/domain/instant'
import { hasEnded, type LabletSession } from '@lcm/domain/session/lablet-session'
import { admissionNote, admissionText } from '@lcm/domain/text/admission-text'
import { useConsole } from '../../../parts/console-context.ts'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { WindowedTable } from '../../../parts/table/windowed-table.tsx'
import { canSeeAllSessions } from '../../../state/permission.ts'
import { sessionHash, workerHash } from '../../../state/router.ts'
import { utcText } from '../../../state/time-format.ts'
import { SessionActions } from '../actions/action-buttons.tsx'
import { Owner } from '../owner.tsx'
import { activityTextFor, isWaiting, slotNote, slotText } from '../session-text.ts'

const COLUMNS = ['Session', 'Status', 'Timeslot', 'Owner', 'Worker', 'Activity', 'Actions'] as const

export function SessionTable({ sessions }: { sessions: readonly LabletSession[] }) {
  const isOwnOnly = !canSeeAllSessions(useConsole().state.info.value)
  return (
    <WindowedTable
      class={`table sessions ${isOwnOnly ? 'own-only' : ''}`}
      columns={COLUMNS}
      items={sessions}
      row={(session, rowIndex) => <SessionRow key={session.id} session={session} rowIndex={rowIndex} />}
      labelledBy="table-title"
    />
  )
}

function SessionRow({ session, rowIndex }: { session: LabletSession; rowIndex: number }) {
  const { state } = useConsole()
  const { definition, worker_id } = session
  return (
    <tr class="session-row" aria-rowindex={rowIndex} data-session={session.id} data-status={session.status}>
      <th scope="row" class="col-session">
        <a href={sessionHash(session.id)}>{definition.name}</a> <span class="muted">{definition.version}</span>
        <span class="sub mono">{session.id}</span>
      </th>
      <td class="col-status">
        <SessionBadge session={session} />
      </td>
      <td
        class="col-slot number"
        title={`${utcText(toMs(session.timeslot.start))} – ${utcText(toMs(session.timeslot.end))}`}
      >
        {slotText(session.timeslot)}
        <SlotNote session={session} />
        <PromiseNote session={session} />
      </td>
      <td class="col-owner">
        <Owner session={session} />
      </td>
      <td class="col-worker">
        {worker_id === null ? (
          <span class="muted">none</span>
        ) : (
          <a href={workerHash(worker_id)}>{state.live.worker.get(worker_id)?.name ?? worker_id}</a>
        )}
      </td>
      <td class="col-activity">
        <Activity session={session} />
      </td>
      <td class="col-actions">
        <SessionActions session={session} place="row" />
      </td>
    </tr>
  )
}

/** Shown only where the capacity is not promised. */
function PromiseNote({ session: { admission, status } }: { session: LabletSession }) {
  const note = hasEnded(status) ? '' : admissionNote(admission)
  if (note === '') return null
  return (
    <span
      class={`sub promise ${admission.at_risk === null ? 'muted' : 'tone-orange'}`}
      title={admissionText(admission)}
    >
      {note}
    </span>
  )
}

/** What it does or waits for. */
function Activity({ session }: { session: LabletSession }) {
  const { state, nowMs } = useConsole()
  const activity = activityTextFor(state.info.value?.actor, session, nowMs.value)
  const { status } = session.health
  const isNotable = isWaiting(session) || status !== 'OK'
  return (
    <span class={`activity ${isNotable ? 'waits' : ''}`} title={activity}>
      {activity}
    </span>
  )
}

/** A separate component, because it re-renders every second. */
function SlotNote({ session }: { session: LabletSession }) {
  const { nowMs } = useConsole()
  return <span class="sub">{slotNote(session, nowMs.value)}</span>
}

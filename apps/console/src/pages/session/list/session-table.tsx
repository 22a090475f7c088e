import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { WindowedTable } from '../../../parts/table/windowed-table.tsx'
import { sessionHash, workerHash } from '../../../state/router.ts'
import { utcText } from '../../../state/time-format.ts'
import { SessionActions } from '../actions/action-buttons.tsx'
import { Owner } from '../owner.tsx'
import { SessionBadge } from '../session-badge.tsx'
import { activityText, isWaiting, slotNote, slotText } from '../session-text.ts'

const COLUMNS = ['Session', 'Status', 'Timeslot', 'Owner', 'Worker', 'Activity', 'Actions'] as const

export const SessionTable = ({ sessions }: { sessions: readonly LabletSession[] }) => (
  <WindowedTable
    class="table sessions"
    columns={COLUMNS}
    items={sessions}
    row={(session, rowIndex) => <SessionRow key={session.id} session={session} rowIndex={rowIndex} />}
    labelledBy="table-title"
  />
)

function SessionRow({ session, rowIndex }: { session: LabletSession; rowIndex: number }) {
  const { state } = useConsole()
  const { definition, worker_id } = session
  const activity = activityText(session)
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
        <span class={`activity ${isWaiting(session) ? 'waits' : ''}`} title={activity}>
          {activity}
        </span>
      </td>
      <td class="col-actions">
        <SessionActions session={session} place="row" />
      </td>
    </tr>
  )
}

/** A separate component, because it re-renders every second. */
function SlotNote({ session }: { session: LabletSession }) {
  const { nowMs } = useConsole()
  return <span class="sub">{slotNote(session, nowMs.value)}</span>
}

import { toMs } from '@lcm/domain/instant'
import { moveWarning } from '@lcm/domain/session/session-move-request'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { dayAndMinuteText } from '../../../state/time-format.ts'
import { slotText } from '../session-text.ts'
import { isOver } from './session-actions.ts'
import { SessionOverDialog } from './session-over-dialog.tsx'
import { requestAction } from './session-requests.ts'

export function MoveDialog({ id }: { id: string }) {
  const { state, requests } = useConsole()
  const session = state.live.session.get(id)
  if (!session || isOver(session)) return <SessionOverDialog title="Nothing to move" />
  const { save_id, tried_at } = session.save
  const savedAt = save_id === null || tried_at === null ? null : dayAndMinuteText(toMs(tried_at))
  return (
    <ConfirmDialog
      title={`Move this session of ${session.definition.name}?`}
      verb="Move session"
      keep="Keep it here"
      typed={null}
      onConfirm={() => requestAction(requests, session, 'move')}
    >
      <p>{moveWarning(session, savedAt)}</p>
      <p class="muted">
        <SessionBadge session={session} /> {slotText(session.timeslot)}
      </p>
    </ConfirmDialog>
  )
}

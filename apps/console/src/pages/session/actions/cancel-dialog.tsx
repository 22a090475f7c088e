import { isLive, isUp } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { slotText } from '../session-text.ts'
import { isOver } from './session-actions.ts'
import { SessionOverDialog } from './session-over-dialog.tsx'
import { requestCancel } from './session-requests.ts'

export function CancelDialog({ id }: { id: string }) {
  const { state, requests } = useConsole()
  const session = state.live.session.get(id)
  if (!session || isOver(session)) return <SessionOverDialog title="Nothing to cancel" />
  const isSaved = isUp(session.status) && state.live.definition.get(session.definition.id)?.saves_enabled === true
  const hasLab = isLive(session.status) && session.status !== 'SCHEDULED'
  return (
    <ConfirmDialog
      title={`Cancel this session of ${session.definition.name}?`}
      verb="Cancel session"
      keep="Keep session"
      typed={null}
      onConfirm={() => requestCancel(requests, session)}
    >
      <p>
        {hasLab ? (
          <>
            Its lab is stopped, wiped and removed.{' '}
            {isSaved ? (
              <>
                LCM saves the configurations of its nodes first. <strong>Files on their disks are lost.</strong>
              </>
            ) : (
              <strong>Unsaved work is lost.</strong>
            )}
          </>
        ) : (
          'Its timeslot is released. Its lab was not started yet.'
        )}
      </p>
      <p class="muted">
        <SessionBadge session={session} /> {slotText(session.timeslot)}
      </p>
    </ConfirmDialog>
  )
}

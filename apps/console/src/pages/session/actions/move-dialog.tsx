import { unlessMissing } from '@lcm/client/client'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { moveWarning } from '@lcm/domain/session/session-move-request'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { useRead } from '../../../parts/use-read.ts'
import { dayAndMinuteText } from '../../../state/time-format.ts'
import { slotText } from '../session-text.ts'
import { isOver } from './session-actions.ts'
import { SessionOverDialog } from './session-over-dialog.tsx'
import { requestAction } from './session-requests.ts'

export function MoveDialog({ id }: { id: string }) {
  const { state, requests } = useConsole()
  const session = state.live.session.get(id)
  if (!session || isOver(session)) return <SessionOverDialog title="Nothing to move" />
  return (
    <ConfirmDialog
      title={`Move this session of ${session.definition.name}?`}
      verb="Move session"
      keep="Keep it here"
      typed={null}
      onConfirm={() => requestAction(requests, session, 'move')}
    >
      <MoveWarning session={session} />
      <p class="muted">
        <SessionBadge session={session} /> {slotText(session.timeslot)}
      </p>
    </ConfirmDialog>
  )
}

function MoveWarning({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const { save_id } = session.save
  const last = useRead(`last save ${save_id}`, async (client, signal) =>
    save_id === null ? [] : [await unlessMissing(client.call('getSave', { params: { id: save_id }, signal }))],
  )
  if (last.value === null) return <p class="muted">{last.error ?? 'Looking for its last save…'}</p>
  const [save = null] = last.value
  const isEnabled = state.live.definition.get(session.definition.id)?.saves_enabled === true
  return <p>{moveWarning(session, save === null ? null : dayAndMinuteText(toMs(save.created_at)), isEnabled)}</p>
}

import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { ExtendDialog } from './extend-dialog.tsx'
import { availableActions, disabledReasonOf, mayAct, type SessionAction } from './session-actions.ts'
import { requestAction } from './session-requests.ts'

const LABELS: Readonly<Record<SessionAction, string>> = {
  retry: 'Retry',
  requeue: 'Requeue',
  extend: 'Extend',
  cancel: 'Cancel',
}
const TITLES: Readonly<Record<SessionAction, string>> = {
  retry: 'Retry the failed step now',
  requeue: 'Release its worker and schedule it again',
  extend: 'Make the timeslot longer',
  cancel: 'End the session now and remove its lab',
}

/** Hidden from users whom the API would refuse. */
export function SessionActions({ session, place }: { session: LabletSession; place: 'row' | 'page' }) {
  const { state, nowMs } = useConsole()
  if (!mayAct(state.info.value, session)) return null
  return (
    <span class="actions">
      {availableActions(session, nowMs.peek(), place).map(verb => (
        <ActionButton key={verb} session={session} verb={verb} />
      ))}
    </span>
  )
}

/** Uses `aria-disabled`: a `disabled` button would lose the keyboard focus. */
function ActionButton({ session, verb }: { session: LabletSession; verb: SessionAction }) {
  const { requests, dialog, state, nowMs } = useConsole()
  const longest = state.live.definition.get(session.definition.id)?.max_duration_minutes ?? null
  const disabledReason = disabledReasonOf(verb, session, nowMs.peek(), longest)
  const pending = requests.pendingVerbOf(session.id)
  const isDisabled = disabledReason !== null || pending !== null
  const press = () => {
    if (verb === 'cancel') dialog.value = <CancelDialog id={session.id} />
    else if (verb === 'extend') dialog.value = <ExtendDialog id={session.id} />
    else requestAction(requests, session, verb)
  }
  return (
    <button
      type="button"
      class={`button small ${verb === 'cancel' ? 'danger' : ''} ${pending === verb ? 'requested' : ''}`}
      aria-disabled={isDisabled}
      title={disabledReason ?? TITLES[verb]}
      onClick={() => !isDisabled && press()}
    >
      {pending === verb ? 'Requested…' : LABELS[verb]}
      <span class="sr-only">
        {' '}
        {session.definition.name} {session.id}
      </span>
    </button>
  )
}

import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { Menu } from '../../../parts/dialog/menu.tsx'
import { NamedIcon } from '../../../parts/icons.tsx'
import { CancelDialog } from './cancel-dialog.tsx'
import { ExtendDialog } from './extend-dialog.tsx'
import { MoveDialog } from './move-dialog.tsx'
import { availableActions, disabledReasonOf, isOperator, mayAct, type SessionAction } from './session-actions.ts'
import { requestAction } from './session-requests.ts'

const LABELS: Readonly<Record<SessionAction, string>> = {
  retry: 'Retry',
  requeue: 'Requeue',
  extend: 'Extend',
  move: 'Move',
  cancel: 'Cancel',
}
const TITLES: Readonly<Record<SessionAction, string>> = {
  retry: 'Retry the failed step now',
  requeue: 'Release its worker and schedule it again',
  move: 'Start its lab again on another worker',
  extend: 'Make the timeslot longer',
  cancel: 'End the session now and remove its lab',
}

/** Hidden from users whom the API would refuse. Rows show the main action; the menu has the others. */
export function SessionActions({ session, place }: { session: LabletSession; place: 'row' | 'page' }) {
  const { state, nowMs } = useConsole()
  if (!mayAct(state.info.value, session)) return null
  const facts = { nowMs: nowMs.peek(), isOperator: isOperator(state.info.value) }
  const available = availableActions(session, facts, place)
  const shown = place === 'page' ? available : available.slice(0, 1)
  const rest = available.slice(shown.length)
  return (
    <span class="actions">
      {shown.map(verb => (
        <ActionButton key={verb} session={session} verb={verb} />
      ))}
      {rest.length > 0 && <MoreButton session={session} verbs={rest} />}
    </span>
  )
}

/** Starts an action, and says why it can't be started. */
function useSessionAction(session: LabletSession) {
  const { requests, dialog, state, nowMs } = useConsole()
  const longest = state.live.definition.get(session.definition.id)?.max_duration_minutes ?? null
  return {
    pending: requests.pendingVerbOf(session.id),
    disabledReason: (verb: SessionAction) =>
      disabledReasonOf(verb, session, { nowMs: nowMs.peek(), longest, isOperator: isOperator(state.info.peek()) }),
    begin(verb: SessionAction) {
      if (verb === 'cancel') dialog.value = <CancelDialog id={session.id} />
      else if (verb === 'move') dialog.value = <MoveDialog id={session.id} />
      else if (verb === 'extend') dialog.value = <ExtendDialog id={session.id} />
      else requestAction(requests, session, verb)
    },
  }
}

/** Uses `aria-disabled`: a `disabled` button would lose the keyboard focus. */
function ActionButton({ session, verb }: { session: LabletSession; verb: SessionAction }) {
  const { pending, disabledReason, begin } = useSessionAction(session)
  const reason = disabledReason(verb)
  const isDisabled = reason !== null || pending !== null
  return (
    <button
      type="button"
      class={`button small ${verb === 'cancel' ? 'danger' : ''} ${pending === verb ? 'requested' : ''}`}
      aria-disabled={isDisabled}
      title={reason ?? TITLES[verb]}
      onClick={() => !isDisabled && begin(verb)}
    >
      {pending === verb ? 'Requested…' : LABELS[verb]}
      <span class="sr-only">
        {' '}
        {session.definition.name} {session.id}
      </span>
    </button>
  )
}

function MoreButton({ session, verbs }: { session: LabletSession; verbs: readonly SessionAction[] }) {
  const { dialog } = useConsole()
  const { pending, disabledReason, begin } = useSessionAction(session)
  const name = `${session.definition.name} ${session.id}`
  const open = (anchor: Element) => {
    const items = verbs.map(verb => ({
      key: verb,
      label: LABELS[verb],
      help: TITLES[verb],
      isDanger: verb === 'cancel',
      disabledReason: disabledReason(verb) ?? (pending === null ? null : 'Another request is in progress'),
      onPick: () => begin(verb),
    }))
    dialog.value = <Menu label={`Actions for ${name}`} anchor={anchor} items={items} />
  }
  const isPending = verbs.some(verb => verb === pending)
  return (
    <button
      type="button"
      class="button small icon-only more"
      aria-haspopup="dialog"
      aria-label={`${isPending ? `Requested: ${pending}` : 'More actions for'} ${name}`}
      title={isPending ? `Requested: ${pending}…` : 'More actions'}
      onClick={event => open(event.currentTarget)}
    >
      <NamedIcon name={isPending ? 'waiting' : 'more'} />
    </button>
  )
}

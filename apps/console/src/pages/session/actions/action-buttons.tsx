import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { ExtendDialog } from './extend-dialog.tsx'
import { barOf, mayAct, type SessionVerb, verbsOf } from './session-actions.ts'
import { askAtOnce } from './session-requests.ts'

const LABELS: Readonly<Record<SessionVerb, string>> = {
  retry: 'Retry',
  requeue: 'Requeue',
  extend: 'Extend',
  cancel: 'Cancel',
}
const TITLES: Readonly<Record<SessionVerb, string>> = {
  retry: 'Try again at once what has not worked',
  requeue: 'Give its place back and have it placed anew',
  extend: 'Let it last longer',
  cancel: 'End it now; its lab is taken down',
}

/** Nothing is offered to whom the API would refuse it. */
export function SessionActions({ session, place }: { session: LabletSession; place: 'row' | 'page' }) {
  const { state, nowMs } = useConsole()
  if (!mayAct(state.info.value, session)) return null
  return (
    <span class="actions">
      {verbsOf(session, nowMs.peek(), place).map(verb => (
        <VerbButton key={verb} session={session} verb={verb} />
      ))}
    </span>
  )
}

/** A barred button keeps the keyboard's focus, which `disabled` would throw away. */
function VerbButton({ session, verb }: { session: LabletSession; verb: SessionVerb }) {
  const { asks, dialog, state, nowMs } = useConsole()
  const longest = state.live.definition.get(session.definition.id)?.max_duration_minutes ?? null
  const bar = barOf(verb, session, nowMs.peek(), longest)
  const asked = asks.verbOf(session.id)
  const isBarred = bar !== null || asked !== null
  const press = () => {
    if (verb === 'cancel') dialog.value = <CancelDialog id={session.id} />
    else if (verb === 'extend') dialog.value = <ExtendDialog id={session.id} />
    else askAtOnce(asks, session, verb)
  }
  return (
    <button
      type="button"
      class={`button small ${verb === 'cancel' ? 'danger' : ''} ${asked === verb ? 'asked' : ''}`}
      aria-disabled={isBarred}
      title={bar ?? TITLES[verb]}
      onClick={() => !isBarred && press()}
    >
      {asked === verb ? 'Asked…' : LABELS[verb]}
      <span class="sr-only">
        {' '}
        {session.definition.name} {session.id}
      </span>
    </button>
  )
}

import { toInstant, toMs } from '@lcm/domain/instant'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { slotText } from '../session-text.ts'
import { MinutesField } from './minutes-field.tsx'
import { isOver, minutesLeft } from './session-actions.ts'
import { SessionOverDialog } from './session-over-dialog.tsx'
import { requestExtend } from './session-requests.ts'

const DEFAULT_MINUTES = 30

export function ExtendDialog({ id }: { id: string }) {
  const { state, requests } = useConsole()
  const session = state.live.session.get(id)
  const longest = state.live.definition.get(session?.definition.id ?? '')?.max_duration_minutes ?? null
  const left = session ? minutesLeft(session, longest) : 0
  const minutes = useSignal<number | null>(Math.min(DEFAULT_MINUTES, left))
  if (!session || isOver(session)) return <SessionOverDialog title="Nothing to extend" />
  const { start, end } = session.timeslot
  const more = minutes.value
  const isGood = more !== null && more >= 1 && more <= left
  return (
    <FormDialog
      title={`Extend the session of ${session.definition.name}`}
      verb="Extend"
      isComplete={isGood}
      send={async () => more !== null && (await requestExtend(requests, session, more))}
    >
      <MinutesField minutes={minutes} max={left} label="Additional minutes" />
      <p class="muted">
        {isGood ? (
          <>
            New timeslot: <strong>{slotText({ start, end: toInstant(toMs(end) + more * 60_000) })}</strong>
          </>
        ) : (
          <>Slot: {slotText(session.timeslot)}</>
        )}
      </p>
    </FormDialog>
  )
}

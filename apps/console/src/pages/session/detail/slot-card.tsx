import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../../parts/console-context.ts'
import { Moment } from '../../../parts/timestamp.tsx'
import { useRead } from '../../../parts/use-read.ts'
import { durationText } from '../../../state/error-text.ts'
import { toneOf } from '../../../state/status-look.ts'
import { slotNote } from '../session-text.ts'
import { leadOf, slotScale } from './slot-bar.ts'

export function SlotCard({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const settings = useRead('settings', (client, signal) => client.call('getSettings', { signal }), {
    newsOf: 'settings',
  })
  const lead = settings.value?.settings.boot_lead_minutes?.value
  const worker = state.live.worker.get(session.worker_id ?? '')
  const leadMs = leadOf(
    session,
    state.live.definition.get(session.definition.id),
    { boot_lead_minutes: typeof lead === 'number' ? lead : SETTING_DEFAULTS.boot_lead_minutes },
    worker?.service_status === 'AVAILABLE',
  )
  const { start, end } = session.timeslot
  return (
    <section class={`card slot tone-${toneOf(session.status)}`} aria-labelledby="slot-title">
      <h2 id="slot-title">Slot</h2>
      <SlotNote session={session} />
      <SlotScaleBar session={session} leadMs={leadMs} />
      <p class="slot-ends number">
        {leadMs > 0 && (
          <span class="muted">
            lab boots <Moment at={toMs(start) - leadMs} /> ({durationText(leadMs)} before)
          </span>
        )}
        <span>
          begins <Moment at={start} />
        </span>
        <span>
          ends <Moment at={end} />
        </span>
        <span class="muted">{durationText(toMs(end) - toMs(start))} long</span>
      </p>
    </section>
  )
}

function SlotNote({ session }: { session: LabletSession }) {
  const { nowMs } = useConsole()
  return <p class="slot-note number">{slotNote(session, nowMs.value)}</p>
}

/** The text beside it says the same. */
function SlotScaleBar({ session, leadMs }: { session: LabletSession; leadMs: number }) {
  const { nowMs } = useConsole()
  const { slotLeft, passed, now } = slotScale(session, leadMs, nowMs.value)
  return (
    <div class="slot-bar" aria-hidden="true">
      <span class="slot-lead" style={{ width: `${100 * slotLeft}%` }} />
      <span class="slot-body" style={{ left: `${100 * slotLeft}%` }} />
      <span class="slot-passed" style={{ left: `${100 * slotLeft}%`, width: `${100 * passed}%` }} />
      {now !== null && <span class="slot-now" style={{ left: `${100 * now}%` }} />}
    </div>
  )
}

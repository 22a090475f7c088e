import { SETTING_DEFAULTS, type SettingValues } from '@lcm/domain/fleet/settings'
import { toMs } from '@lcm/domain/instant'
import { bootLeadMs } from '@lcm/domain/session/boot-lead'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { durationText } from '@lcm/domain/text/format-amounts'
import { toneOf } from '@lcm/domain/text/status-tone'
import { useConsole } from '../../../parts/console-context.ts'
import { shownStatus } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { useRead } from '../../../parts/use-read.ts'
import { slotNote } from '../session-text.ts'

export function SlotCard({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const settings = useRead('settings', (client, signal) => client.call('getSettings', { signal }), {
    updatesOf: 'settings',
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
    <section
      class={`card slot tone-${toneOf(shownStatus(session.status, session.health))}`}
      aria-labelledby="slot-title"
    >
      <h2 id="slot-title">Timeslot</h2>
      <SlotNote session={session} />
      <SlotScaleBar session={session} leadMs={leadMs} />
      <p class="slot-ends number">
        {leadMs > 0 && (
          <span class="muted">
            lab starts <Timestamp at={toMs(start) - leadMs} /> ({durationText(leadMs)} before)
          </span>
        )}
        <span>
          starts <Timestamp at={start} />
        </span>
        <span>
          ends <Timestamp at={end} />
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

/** Decorative: the text beside it has the same information. */
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

/** A timeslot to scale, as shares of the width: boot lead, timeslot and current time. */
export interface SlotScale {
  readonly leadMs: number
  readonly slotLeft: number
  /** Elapsed share of the timeslot. */
  readonly passed: number
  /** Null when the current time is outside the scale. */
  readonly now: number | null
}

export function slotScale(session: LabletSession, leadMs: number, nowMs: number): SlotScale {
  const { status, timeslot, entered_status_at } = session
  const [startMs, endMs] = [toMs(timeslot.start), toMs(timeslot.end)]
  const fromMs = startMs - leadMs
  const wholeMs = endMs - fromMs
  const untilMs = isFinal(status) ? toMs(entered_status_at) : nowMs
  const now = (nowMs - fromMs) / wholeMs
  return {
    leadMs,
    slotLeft: leadMs / wholeMs,
    passed: Math.max(0, Math.min(untilMs, endMs) - startMs) / wholeMs,
    now: now >= 0 && now <= 1 ? now : null,
  }
}

/** A session booked to start immediately has no boot lead. */
export function leadOf(
  session: LabletSession,
  definition: { readonly boot_lead_minutes: number | null } | undefined,
  settings: Pick<SettingValues, 'boot_lead_minutes'>,
  isServing: boolean,
): number {
  const wanted = bootLeadMs(definition ?? { boot_lead_minutes: null }, settings, isServing)
  return Math.max(0, Math.min(wanted, toMs(session.timeslot.start) - toMs(session.created_at)))
}

import type { LeadDefinition } from '@lcm/domain/calendar/timings'
import { toMs } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { durationText } from '@lcm/domain/text/format-amounts'
import { toneOf } from '@lcm/domain/text/status-tone'
import { useConsole } from '../../../parts/console-context.ts'
import { shownStatus } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { type LeadBasis, useLeadBasis } from '../../../parts/use-timings.ts'
import { slotNote } from '../session-text.ts'

export function SlotCard({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const basis = useLeadBasis()
  const leadMs = leadOf(session, state.live.definition.get(session.definition.id), basis)
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
  definition: LeadDefinition | undefined,
  { timings, settings }: LeadBasis,
): number {
  const wanted = definition === undefined ? 0 : timings.leadMs(definition, settings)
  return Math.max(0, Math.min(wanted, toMs(session.timeslot.start) - toMs(session.created_at)))
}

import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toMs } from '@lcm/domain/instant'
import { bootLeadMs } from '@lcm/domain/session/boot-lead'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'

/** One slot drawn to scale: the lead in which its lab boots, the slot, and where in it we are. Shares of the width. */
export interface SlotScale {
  readonly leadMs: number
  readonly slotLeft: number
  /** How much of the slot is behind; of one that is over, how much it had. */
  readonly passed: number
  /** Null when now lies outside of what is drawn. */
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

/** What was booked to begin at once had no time to boot before. */
export function leadOf(
  session: LabletSession,
  definition: { readonly boot_lead_minutes: number | null } | undefined,
  settings: Pick<SettingValues, 'boot_lead_minutes'>,
  isServing: boolean,
): number {
  const wanted = bootLeadMs(definition ?? { boot_lead_minutes: null }, settings, isServing)
  return Math.max(0, Math.min(wanted, toMs(session.timeslot.start) - toMs(session.created_at)))
}

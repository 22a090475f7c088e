import type { Use } from '@lcm/domain/calendar/promised-machine'
import { spanOf } from '@lcm/domain/calendar/span'
import type { Timings } from '@lcm/domain/calendar/timings'
import type { LedgerTime } from '@lcm/domain/calendar/worker-ledger'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Demand } from '@lcm/domain/session/demand'
import { isFinal, isOver, type LabletSession } from '@lcm/domain/session/lablet-session'

/** The time that a session needs capacity for. What is past can't be promised. */
export function promisedSpan(
  session: Pick<LabletSession, 'timeslot'>,
  definition: LabletDefinition,
  { settings, timings, nowMs }: { settings: Pick<SettingValues, 'boot_lead_minutes'>; timings: Timings; nowMs: number },
): { from: string; until: string } {
  const { fromMs, untilMs } = spanOf(session, definition, timings, settings)
  return { from: toInstant(Math.max(fromMs, nowMs)), until: toInstant(untilMs) }
}

/**
 * The capacity that a session uses or was promised; null if it has neither. One that ends keeps its worker's capacity until its lab
 * is gone.
 */
export function useOf(session: LabletSession, demand: Demand, { nowMs, teardownMs }: LedgerTime): Use | null {
  const { id, status, worker_id, admission, timeslot } = session
  const isAdmitted = admission.kind === 'admitted'
  const isEnding = isOver(session)
  if (isFinal(status) || (worker_id === null && (isEnding || !isAdmitted))) return null
  const hasLab = worker_id !== null && status !== 'SCHEDULED'
  const fromMs = toMs(admission.span?.from ?? timeslot.start)
  const endMs = admission.span === null ? toMs(timeslot.end) + teardownMs : toMs(admission.span.until)
  if (worker_id === null && endMs <= nowMs) return null
  return {
    id,
    demand,
    span: {
      fromMs: hasLab ? Math.min(fromMs, nowMs) : fromMs,
      untilMs: isEnding ? nowMs + teardownMs : endMs,
    },
    workerId: worker_id,
    number: isAdmitted ? admission.number : null,
    machine: admission.machine,
  }
}

/** When a session without a promise and worker would use one; null for all others. */
export function wishOf(session: LabletSession, demand: Demand, { nowMs, teardownMs }: LedgerTime): Use | null {
  const { id, status, worker_id, admission, timeslot } = session
  const span = { fromMs: toMs(timeslot.start), untilMs: toMs(timeslot.end) + teardownMs }
  const isWaiting = admission.kind === 'best_effort' && worker_id === null && !isOver(session) && !isFinal(status)
  return isWaiting && span.untilMs > nowMs ? { id, demand, span, workerId: null, number: null, machine: null } : null
}

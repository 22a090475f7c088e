import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Guard } from '../worker/decision/decision.ts'
import { approvalRequired, needsApproval } from '../worker/instance-trust.ts'
import { POLICY } from '../worker/lifecycle.ts'
import type { Worker } from '../worker/worker.ts'
import { type IdleCalendar, isUsedByHand } from './idle-calendar.ts'
import type { SettingValues } from './settings.ts'

/** The activity of users in the telemetry; null if it could not be read, which never counts as idle. */
export interface IdleEvidence {
  readonly last_activity_at: Instant | null
  readonly running_nodes: number | null
}

/** Why telemetry could not be read, when a retry does not help until an operator changes something. */
export const UNREADABLE = ['no_credentials', 'login_refused', 'telemetry_refused', 'telemetry_off'] as const
export type Unreadable = (typeof UNREADABLE)[number]

export interface FleetCounts {
  /** Workers that run and keep running, without those that already have a permit to stop. */
  readonly running: number
  readonly lastScaleDownAt: Instant | null
  /** Other workers that were stopped automatically within `STOPS_WINDOW_MS`. */
  readonly recentStops: number
  /** The workers that run, and the recent stops. */
  readonly size: number
  readonly isHeld: boolean
}

/** How long an automatic stop counts for `scale_down_max_share`. */
export const STOPS_WINDOW_MS = 10 * 60_000

export type IdleVerdict =
  | { readonly kind: 'skipped_not_idle' | 'skipped_not_eligible' | 'skipped_auto_pause'; readonly because: Reason }
  | { readonly kind: 'skipped_cannot_judge'; readonly because: Reason }
  | { readonly kind: 'skipped_min_workers' | 'skipped_cooldown'; readonly because: Reason }
  | { readonly kind: 'pause' | 'drain'; readonly because: Reason }

export interface IdleDecision {
  readonly verdict: IdleVerdict
  readonly guards: readonly Guard[]
  /** Since when the worker is idle, if that is longer than the timeout. */
  readonly idleSince: Instant | null
}

/** A guard, and the verdict if it is the first that fails. */
interface Check {
  readonly guard: Guard
  readonly verdict: () => IdleVerdict
}

export interface IdleContext {
  readonly fleet: FleetCounts | null
  readonly nowMs: number
  readonly unreadable?: Unreadable | null
  /** What `idle_action: calendar` goes by. */
  readonly calendar?: IdleCalendar | null
}

/**
 * Whether an idle worker is stopped now. The guards are checked in this order. Without a fleet only
 * the worker itself is judged: thousands of workers are counted only for one that may be stopped.
 */
export function decideIdle(
  worker: Worker,
  evidence: IdleEvidence | null,
  settings: SettingValues,
  { fleet, nowMs, unreadable = null, calendar = null }: IdleContext,
): IdleDecision {
  const idleMs = nowMs - referenceMs(worker, evidence)
  const byCalendar = settings.idle_action === 'calendar' && !isUsedByHand(worker, evidence) ? calendar : null
  const rest = restOf(worker, { idleMs, settings, calendar: byCalendar, isReadable: evidence !== null })
  const checks = [
    equal('already_paused', worker.desired_status !== 'RUNNING', false, () => ({
      kind: 'skipped_auto_pause',
      because: reason('stop_already_requested'),
    })),
    ...(evidence === null && unreadable !== null ? [readable(unreadable)] : []),
    rest.check,
    ...eligibility(worker, evidence, settings, { nowMs, isPlanned: byCalendar !== null }),
    ...(fleet === null ? [] : allowance(settings, fleet, { nowMs, isPlanned: byCalendar?.step != null })),
  ]
  const hasSessions = Object.keys(worker.reservations).length > 0
  const idleSince = rest.check.guard.passed && !hasSessions ? toInstant(nowMs - idleMs) : null
  const failed = checks.find(({ guard }) => !guard.passed)
  const guards = checks.map(({ guard }) => guard)
  const kind = settings.idle_action === 'drain' ? 'drain' : 'pause'
  return { verdict: failed?.verdict() ?? { kind, because: rest.because() }, guards, idleSince }
}

type GuardValue = string | number | boolean

const equal = (name: string, value: GuardValue, limit: GuardValue, verdict: Check['verdict']): Check => ({
  guard: { name, value, limit, passed: value === limit },
  verdict,
})

const eligible = (name: string, value: GuardValue, limit: GuardValue, because: () => Reason): Check =>
  equal(name, value, limit, () => ({ kind: 'skipped_not_eligible', because: because() }))

const readable = (unreadable: Unreadable): Check =>
  equal('telemetry', unreadable, 'readable', () => ({
    kind: 'skipped_cannot_judge',
    because: reason('idle_unknown', { telemetry: unreadable }),
  }))

/** Whether the worker has rested long enough, and why it is stopped then. */
interface Rest {
  readonly check: Check
  readonly because: () => Reason
}

interface RestInput {
  readonly idleMs: number
  readonly settings: SettingValues
  readonly calendar: IdleCalendar | null
  readonly isReadable: boolean
}

function restOf(worker: Worker, input: RestInput): Rest {
  const { idleMs, settings, calendar, isReadable } = input
  const unless = (because: () => Reason) => (): IdleVerdict => ({
    kind: 'skipped_not_idle',
    because: isReadable ? because() : reason('telemetry_unreadable'),
  })
  if (calendar?.step != null) {
    const { kind, because } = calendar.step
    const guard = { name: 'plan', value: kind, limit: 'stop', passed: isReadable && kind === 'stop' }
    return { check: { guard, verdict: unless(() => because) }, because: () => because }
  }
  const limit = calendar === null ? settings.idle_timeout_seconds : Math.ceil(calendar.bootMs / 1000)
  const value = Math.floor(idleMs / 1000)
  const guard = { name: 'idle_seconds', value, limit, passed: isReadable && value >= limit }
  const not_idle = { idle_seconds: inWholeMinutes(value), timeout_seconds: limit }
  const idle = { worker: worker.name, idle_seconds: Math.floor(idleMs / 60_000) * 60 }
  return {
    check: { guard, verdict: unless(() => reason('not_idle', not_idle)) },
    because: () =>
      calendar === null
        ? reason('idle_timeout', { ...idle, timeout_seconds: limit })
        : reason('idle_without_plan', { ...idle, boot_seconds: limit }),
  }
}

/** As exact as its message, so that the reason does not change every second. */
const inWholeMinutes = (seconds: number): number => (seconds < 120 ? seconds : seconds - (seconds % 60))

/** When a user last used or started the worker, or when it became RUNNING. */
export function referenceMs(worker: Worker, evidence: IdleEvidence | null): number {
  const moments = [
    worker.created_at,
    // A worker can't be used before it runs: a session that waited hours for it must not lose it right away.
    worker.status === 'RUNNING' ? worker.entered_status_at : null,
    worker.pause.last_resumed_at,
    worker.activity.last_activity_at,
    evidence?.last_activity_at ?? null,
  ]
  return Math.max(...moments.flatMap(moment => (moment === null ? [] : [toMs(moment)])))
}

const OFF_FOR_ALL = 'off for all'

function eligibility(
  worker: Worker,
  evidence: IdleEvidence | null,
  settings: SettingValues,
  { nowMs, isPlanned }: { nowMs: number; isPlanned: boolean },
): Check[] {
  const { status, wanted_by } = worker
  const startedMs = isPlanned ? startedByPersonMs(worker) : toMsOrNever(worker.pause.last_resumed_at)
  const snoozed = Math.max(0, Math.ceil((startedMs + settings.idle_snooze_seconds * 1000 - nowMs) / 1000))
  const heldMs = worker.desired_until === null ? 0 : toMs(worker.desired_until) - nowMs
  const held = Math.max(0, Math.ceil(heldMs / 1000))
  const nodes = evidence?.running_nodes ?? null
  const sessions = Object.keys(worker.reservations).length
  const action = wantedAction(settings)
  return [
    eligible(
      'idle_detection_enabled',
      settings.idle_detection_enabled ? worker.idle_detection_enabled : OFF_FOR_ALL,
      true,
      () => reason('idle_detection_off', { scope: settings.idle_detection_enabled ? 'worker' : 'fleet' }),
    ),
    eligible('idle_action', effectiveIdleAction(settings), action, () =>
      reason(action === 'drain' ? 'scale_down_disabled' : 'idle_action_none'),
    ),
    eligible('needs_approval', needsApproval(worker), false, () => approvalRequired(worker)),
    eligible('status', status, 'RUNNING', () => reason('worker_status', { worker: null, status })),
    eligible('protected', worker.protected, false, () => reason('worker_protected')),
    eligible('draining', worker.drain !== null, false, () => reason('drain_in_progress')),
    eligible('sessions', sessions, 0, () => reason('worker_has_sessions', { sessions })),
    eligible('wanted_by', wanted_by.length, 0, () =>
      reason('sessions_waiting_for_worker', { sessions: wanted_by.length }),
    ),
    eligible('running_nodes_kept', settings.idle_running_nodes === 'keep' ? (nodes ?? 'unknown') : 0, 0, () =>
      reason('running_nodes_kept', { nodes }),
    ),
    eligible('snoozed_seconds', snoozed, 0, () => reason('idle_snoozed', { seconds: snoozed })),
    eligible('held_by_person_seconds', held, 0, () => reason('status_held', { seconds: held })),
  ]
}

/** When a person last created or started the worker. A start for sessions holds a worker no longer than they do. */
export function startedByPersonMs({ origin, created_at, desired_by, pause }: Worker): number {
  const resumed = desired_by === POLICY.resume ? null : pause.last_resumed_at
  return toMsOrNever(resumed ?? (origin === 'USER' ? created_at : null))
}

const toMsOrNever = (at: Instant | null): number => (at === null ? Number.NEGATIVE_INFINITY : toMs(at))

/** Draining is scale-down: it is off while scale-down is off. */
export const effectiveIdleAction = ({
  idle_action,
  scale_down_enabled,
}: SettingValues): SettingValues['idle_action'] =>
  idle_action === 'drain' && !scale_down_enabled ? 'none' : idle_action

/** The guard fails if there is nothing to do. */
const wantedAction = ({ idle_action }: SettingValues): string =>
  idle_action === 'none' ? 'pause or drain' : idle_action

/** The guards that depend on the rest of the fleet. A stop that the plan explains needs no brake. */
function allowance(
  settings: SettingValues,
  fleet: FleetCounts,
  { nowMs, isPlanned }: { nowMs: number; isPlanned: boolean },
): Check[] {
  const { running } = fleet
  const { min_workers, scale_down_cooldown_seconds: cooldown } = settings
  const brakes = isPlanned ? [] : [shareBrake(settings, fleet)]
  return [
    eligible('fleet_held', fleet.isHeld, false, () => reason('fleet_held')),
    {
      guard: { name: 'running_workers', value: running, limit: min_workers, passed: running > min_workers },
      verdict: () => ({
        kind: 'skipped_min_workers',
        because: reason('min_workers_reached', { running, min_workers }),
      }),
    },
    ...(cooldown === 'off' ? brakes : [cooldownBrake(cooldown, fleet, nowMs)]),
  ]
}

/** Limits what one wrong decision about the whole fleet can cost, and lets a large fleet stop within the hour. */
function shareBrake({ scale_down_max_share: share }: SettingValues, { recentStops: stops, size }: FleetCounts): Check {
  const limit = Math.max(1, Math.floor(share * size))
  return {
    guard: { name: 'stops_within_10_minutes', value: stops, limit, passed: stops < limit },
    verdict: () => ({ kind: 'skipped_cooldown', because: reason('scale_down_share', { stops, limit, workers: size }) }),
  }
}

function cooldownBrake(cooldown: number, { lastScaleDownAt: last }: FleetCounts, nowMs: number): Check {
  const elapsed = last === null ? Number.MAX_SAFE_INTEGER : Math.floor((nowMs - toMs(last)) / 1000)
  return {
    guard: { name: 'seconds_since_scale_down', value: elapsed, limit: cooldown, passed: elapsed >= cooldown },
    verdict: () => ({
      kind: 'skipped_cooldown',
      because: reason('scale_down_cooldown', { elapsed_seconds: elapsed, cooldown_seconds: cooldown }),
    }),
  }
}

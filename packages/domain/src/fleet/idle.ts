import { type Instant, toInstant, toMs } from '../instant.ts'
import { refusalWords } from '../worker/decision/cml-access.ts'
import type { Guard } from '../worker/decision/decision.ts'
import type { Worker } from '../worker/worker.ts'
import type { SettingValues } from './settings.ts'

/** What telemetry showed of people's activity; null when it could not be read, which is never taken for idleness. */
export interface IdleEvidence {
  readonly last_activity_at: Instant | null
  readonly running_nodes: number | null
}

/** Why telemetry could not be read, where asking again does not help until a person changes something. */
export const UNREADABLE = ['no_credentials', 'login_refused', 'telemetry_refused', 'telemetry_off'] as const
export type Unreadable = (typeof UNREADABLE)[number]

const UNREADABLE_WORDS: Readonly<Record<Unreadable, string>> = {
  no_credentials: refusalWords('credentials'),
  login_refused: refusalWords('login'),
  telemetry_refused: refusalWords('telemetry'),
  telemetry_off: refusalWords('telemetry_off'),
}

export interface FleetCounts {
  /** Workers that run and are to go on running, less those that already have a permit to stop. */
  readonly running: number
  readonly lastScaleDownAt: Instant | null
  readonly isHeld: boolean
}

export type IdleVerdict =
  | { readonly kind: 'skipped_not_idle' | 'skipped_not_eligible' | 'skipped_auto_pause'; readonly because: string }
  | { readonly kind: 'skipped_cannot_judge'; readonly because: string }
  | { readonly kind: 'skipped_min_workers' | 'skipped_cooldown'; readonly because: string }
  | { readonly kind: 'pause' | 'drain'; readonly because: string }

export interface IdleDecision {
  readonly verdict: IdleVerdict
  readonly guards: readonly Guard[]
  /** Since when nobody did anything, if that is long enough ago. */
  readonly idleSince: Instant | null
}

/**
 * Whether an idle worker is to be stopped now. The guards come in the order in which people would ask for them. Without a
 * fleet only the worker itself is judged: to count thousands of others is worth it only for one that may go.
 */
export function decideIdle(
  worker: Worker,
  evidence: IdleEvidence | null,
  settings: SettingValues,
  { fleet, nowMs, unreadable = null }: { fleet: FleetCounts | null; nowMs: number; unreadable?: Unreadable | null },
): IdleDecision {
  const idleMs = nowMs - referenceMs(worker, evidence)
  const isIdle = evidence !== null && idleMs >= settings.idle_timeout_seconds * 1000
  const guards = [
    guard('already_paused', worker.desired_status !== 'RUNNING', false),
    ...(evidence === null && unreadable !== null ? [guard('telemetry', unreadable, 'readable')] : []),
    { name: 'idle_seconds', value: Math.floor(idleMs / 1000), limit: settings.idle_timeout_seconds, passed: isIdle },
    ...eligibility(worker, evidence, settings, nowMs),
    ...(fleet === null ? [] : room(settings, fleet, nowMs)),
  ]
  const hasSessions = Object.keys(worker.reservations).length > 0
  const idleSince = isIdle && !hasSessions ? toInstant(nowMs - idleMs) : null
  const failed = guards.find(each => !each.passed)
  return { verdict: failed ? skipped(failed, evidence) : stopped(worker, settings, idleMs), guards, idleSince }
}

const guard = (name: string, value: string | number | boolean, limit: string | number | boolean): Guard => ({
  name,
  value,
  limit,
  passed: value === limit,
})

/** The last moment at which somebody is known to have wanted the worker awake, or at which it came to be of use. */
function referenceMs(worker: Worker, evidence: IdleEvidence | null): number {
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

function eligibility(worker: Worker, evidence: IdleEvidence | null, settings: SettingValues, nowMs: number): Guard[] {
  const resumed = worker.pause.last_resumed_at
  const snoozedMs = resumed === null ? 0 : toMs(resumed) + settings.idle_snooze_seconds * 1000 - nowMs
  const heldMs = worker.desired_until === null ? 0 : toMs(worker.desired_until) - nowMs
  const keptAwake = settings.idle_running_nodes === 'keep' ? (evidence?.running_nodes ?? 'unknown') : 0
  return [
    guard(
      'idle_detection_enabled',
      settings.idle_detection_enabled ? worker.idle_detection_enabled : OFF_FOR_ALL,
      true,
    ),
    guard('idle_action', effectiveIdleAction(settings), wantedAction(settings)),
    guard('status', worker.status, 'RUNNING'),
    guard('protected', worker.protected, false),
    guard('draining', worker.drain !== null, false),
    guard('sessions', Object.keys(worker.reservations).length, 0),
    guard('wanted_by', worker.wanted_by.length, 0),
    guard('running_nodes_kept', keptAwake, 0),
    guard('snoozed_seconds', Math.max(0, Math.ceil(snoozedMs / 1000)), 0),
    guard('held_by_person_seconds', Math.max(0, Math.ceil(heldMs / 1000)), 0),
  ]
}

/** Draining is scaling down, and so is off where that is off. */
export const effectiveIdleAction = ({
  idle_action,
  scale_down_enabled,
}: SettingValues): SettingValues['idle_action'] =>
  idle_action === 'drain' && !scale_down_enabled ? 'none' : idle_action

/** The guard fails where there is nothing to do. */
const wantedAction = ({ idle_action }: SettingValues): string =>
  idle_action === 'none' ? 'pause or drain' : idle_action

function room(settings: SettingValues, fleet: FleetCounts, nowMs: number): Guard[] {
  const last = fleet.lastScaleDownAt
  const sinceS = last === null ? Number.MAX_SAFE_INTEGER : Math.floor((nowMs - toMs(last)) / 1000)
  return [
    guard('fleet_held', fleet.isHeld, false),
    {
      name: 'running_workers',
      value: fleet.running,
      limit: settings.min_workers,
      passed: fleet.running > settings.min_workers,
    },
    {
      name: 'seconds_since_scale_down',
      value: sinceS,
      limit: settings.scale_down_cooldown_seconds,
      passed: sinceS >= settings.scale_down_cooldown_seconds,
    },
  ]
}

const counted = (count: Guard['value'], one: string, many: string): string => `${count} ${count === 1 ? one : many}`
const spanOf = (seconds: Guard['value']): string =>
  Number(seconds) < 120 ? `${seconds} s` : `${Math.floor(Number(seconds) / 60)} min`

/** Why a worker is spared, by the guard that failed, for somebody who expected it to be stopped. */
const WORDS: Readonly<Record<string, (failed: Guard) => string>> = {
  idle_seconds: ({ value, limit }) =>
    `it was last used or started ${spanOf(value)} ago, and counts as idle after ${spanOf(limit)}`,
  telemetry: ({ value }) => `${UNREADABLE_WORDS[value as Unreadable]}, so the idle policy can't judge this worker`,
  idle_detection_enabled: ({ value }) => `idle detection is off for ${value === OFF_FOR_ALL ? 'all' : 'it'}`,
  idle_action: ({ limit }) =>
    limit === 'drain'
      ? 'idle workers are to be drained, and scale_down_enabled is off'
      : 'idle workers are to be left alone (idle_action is none)',
  status: ({ value }) => `it is ${value}`,
  protected: () => 'it is protected',
  draining: () => 'it is being drained',
  sessions: ({ value }) => `${counted(value, 'session lives', 'sessions live')} on it`,
  wanted_by: ({ value }) => `${counted(value, 'session waits', 'sessions wait')} for it`,
  running_nodes_kept: ({ value }) =>
    value === 'unknown'
      ? 'CML does not say how many nodes run on it, and idle_running_nodes is keep'
      : `${counted(value, 'node runs', 'nodes run')} on it, and idle_running_nodes is keep`,
  snoozed_seconds: ({ value }) => `it was started again and is left alone for another ${value} s`,
  held_by_person_seconds: ({ value }) => `a person wants it so for another ${value} s`,
  fleet_held: () => 'the fleet is held until every worker has been looked at',
  running_workers: ({ value, limit }) => `${counted(value, 'worker runs', 'workers run')}, and min_workers is ${limit}`,
  seconds_since_scale_down: ({ value, limit }) =>
    `the last automatic stop was ${value} s ago, and ${limit} s must pass`,
}

function skipped(failed: Guard, evidence: IdleEvidence | null): IdleVerdict {
  const because = WORDS[failed.name]?.(failed) ?? `${failed.name} is ${failed.value}, and ${failed.limit} is asked for`
  switch (failed.name) {
    case 'already_paused':
      return { kind: 'skipped_auto_pause', because: 'it is not wanted running any more' }
    case 'telemetry':
      return { kind: 'skipped_cannot_judge', because }
    case 'idle_seconds':
      return { kind: 'skipped_not_idle', because: evidence === null ? 'its telemetry could not be read' : because }
    case 'running_workers':
      return { kind: 'skipped_min_workers', because }
    case 'seconds_since_scale_down':
      return { kind: 'skipped_cooldown', because }
    default:
      return { kind: 'skipped_not_eligible', because }
  }
}

function stopped(worker: Worker, settings: SettingValues, idleMs: number): IdleVerdict {
  const kind = settings.idle_action === 'drain' ? 'drain' : 'pause'
  const minutes = Math.floor(idleMs / 60_000)
  return {
    kind,
    because: `nobody used ${worker.name} for ${minutes} min, the limit is ${settings.idle_timeout_seconds / 60}`,
  }
}

import { timingsOf } from '@lcm/domain/calendar/timings'
import { decideIdle, STOPS_WINDOW_MS } from '@lcm/domain/fleet/decide-idle'
import { SETTING_DEFAULTS, type SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { isDue, schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingStep } from '@lcm/domain/session/scheduling-types'
import type { Worker } from '@lcm/domain/worker/worker'
import { REGION } from './fleet.ts'
import type { Decision, FleetView, OpenSession, Order, Policy } from './policy.ts'
import { MINUTE_MS } from './trace.ts'

/** Intervals of the scheduler and the worker-controller. */
const CYCLE_MS = 30_000
const IDLE_CHECK_MS = 5 * MINUTE_MS

/** Learners work in their sessions only, and LCM's own labs don't count as use. */
const NO_ACTIVITY = { last_activity_at: null, running_nodes: 0 }

/** Labs start 10 minutes ahead, as before their starts were measured. */
export const SETTINGS: SettingValues = { ...SETTING_DEFAULTS, max_workers_per_region: 500, boot_lead_minutes: 10 }
export const NO_TIMINGS = timingsOf([])

/** What LCM decides: its scheduler and its idle checks, with the guards of the API around them. */
export function schedulerPolicy(name: string, settings: SettingValues = SETTINGS): Policy {
  const buy = purchases(settings)
  const idle = idleChecks(settings)

  function placed(view: FleetView, due: readonly OpenSession[]): Order[] {
    const steps = schedule({
      sessions: due.map(({ session }) => session),
      definitions: view.definitions,
      workers: view.workers,
      templates: [view.template],
      settings,
      timings: NO_TIMINGS,
      region: REGION,
      leaving: new Map(),
      nowMs: view.nowMs,
    })
    return steps.flatMap((step): Order[] => {
      if (step.kind === 'resume') return [{ kind: 'wake', worker_id: step.worker_id, session_ids: step.session_ids }]
      if (step.kind === 'scale_up') return buy(view, step)
      return step.kind === 'assign' ? assigned(view, step, settings) : []
    })
  }

  return {
    name,
    decide: (view): Decision => {
      const { nowMs, sessions } = view
      const dueMs = nowMs + settings.schedule_ahead_minutes * MINUTE_MS
      const due: OpenSession[] = []
      let laterMs = Number.POSITIVE_INFINITY
      for (const session of sessions)
        if (session.startMs <= dueMs) due.push(session)
        else laterMs = Math.min(laterMs, nowMs + session.startMs - dueMs)
      const waiting = due.filter(({ session }) =>
        isDue(session, { settings, timings: NO_TIMINGS, definitions: view.definitions }, nowMs),
      )
      const orders = waiting.length === 0 ? [] : placed(view, due)
      const stops = idle.stops(view, new Set(orders.map(order => order.worker_id)))
      const isWaiting = orders.filter(({ kind }) => kind === 'assign').length < waiting.length
      const cycleMs = isWaiting ? nowMs + CYCLE_MS : Number.POSITIVE_INFINITY
      return { orders: [...orders, ...stops], nextMs: Math.min(laterMs, cycleMs, idle.nextMs()) }
    },
  }
}

type StepOf<K extends SchedulingStep['kind']> = Extract<SchedulingStep, { kind: K }>

function assigned(
  { definitions }: FleetView,
  { session, worker_id }: StepOf<'assign'>,
  settings: SettingValues,
): Order[] {
  const definition = definitions.get(session.definition.id)
  if (definition === undefined) return []
  const labStartMs = toMs(session.timeslot.start) - NO_TIMINGS.leadMs(definition, settings)
  return [{ kind: 'assign', session_id: session.id, worker_id, labStartMs }]
}

const STARTING: ReadonlySet<string> = new Set(['PENDING', 'PROVISIONING', 'STARTING', 'UNKNOWN'])

/** Buys as the API does: one purchase of a group at a time, with a cooldown. */
function purchases(settings: SettingValues): (view: FleetView, step: StepOf<'scale_up'>) => Order[] {
  const lastOf = new Map<string, { readonly atMs: number; readonly worker_ids: readonly string[] }>()
  let bought = 0

  function isRefused({ workers, nowMs }: FleetView, { count, group }: StepOf<'scale_up'>): boolean {
    if (!settings.scale_up_enabled || workers.length + count > settings.max_workers_per_region) return true
    const last = lastOf.get(group)
    if (last === undefined) return false
    const { atMs, worker_ids } = last
    const isArriving = workers.some(
      ({ id, status, desired_status }) =>
        worker_ids.includes(id) && desired_status === 'RUNNING' && STARTING.has(status),
    )
    return isArriving || nowMs - atMs < settings.scale_up_cooldown_seconds * 1000
  }

  return (view, step) => {
    const { count, group, session_ids } = step
    if (isRefused(view, step)) return []
    const worker_ids = Array.from({ length: count }, (_, n) => `w-${String(bought + n + 1).padStart(4, '0')}`)
    bought += count
    lastOf.set(group, { atMs: view.nowMs, worker_ids })
    return worker_ids.map(worker_id => ({ kind: 'buy', worker_id, session_ids }))
  }
}

interface IdleChecks {
  /** Workers that have other orders are in use. */
  readonly stops: (view: FleetView, ordered: ReadonlySet<string>) => Order[]
  readonly nextMs: () => number
}

function idleChecks(settings: SettingValues): IdleChecks {
  const checkAtMs = new Map<string, number>()
  let stops: readonly number[] = []

  function isDueNow({ id, status }: Worker, nowMs: number): boolean {
    const dueMs = checkAtMs.get(id) ?? nowMs + IDLE_CHECK_MS
    if (status === 'RUNNING') checkAtMs.set(id, dueMs > nowMs ? dueMs : nowMs + IDLE_CHECK_MS)
    else checkAtMs.delete(id)
    return status === 'RUNNING' && dueMs <= nowMs
  }

  function stopsBefore(nowMs: number, running: number) {
    const last = stops.at(-1)
    stops = stops.filter((atMs, n) => n === stops.length - 1 || nowMs - atMs < STOPS_WINDOW_MS)
    const recentStops = stops.filter(atMs => nowMs - atMs < STOPS_WINDOW_MS).length
    const lastScaleDownAt = last === undefined ? null : toInstant(last)
    return { lastScaleDownAt, recentStops, size: running + recentStops }
  }

  return {
    nextMs: () => Math.min(...checkAtMs.values()),
    stops: ({ workers, nowMs }, ordered) => {
      const orders: Order[] = []
      for (const worker of workers) {
        if (!isDueNow(worker, nowMs) || ordered.has(worker.id)) continue
        const running = workers.filter(({ status }) => status === 'RUNNING').length - orders.length
        const fleet = { running, ...stopsBefore(nowMs, running), isHeld: false }
        const { verdict } = decideIdle(worker, NO_ACTIVITY, settings, { fleet, nowMs })
        if (verdict.kind !== 'pause') continue
        orders.push({ kind: 'stop', worker_id: worker.id, because: verdict.because })
        stops = [...stops, nowMs]
      }
      return orders
    },
  }
}

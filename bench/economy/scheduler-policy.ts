import { decideIdle, STOPS_WINDOW_MS } from '@lcm/domain/fleet/decide-idle'
import { AUTO, SETTING_DEFAULTS, type SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { plannerPolicy } from './planner-policy.ts'
import type { FleetView, Order, Policy } from './policy.ts'
import { MINUTE_MS } from './trace.ts'

/** Interval of the worker-controller. */
const IDLE_CHECK_MS = 5 * MINUTE_MS

/** Learners work in their sessions only, and LCM's own labs don't count as use. */
const NO_ACTIVITY = { last_activity_at: null, running_nodes: 0 }

export const SETTINGS: SettingValues = {
  ...SETTING_DEFAULTS,
  max_workers_per_region: 500,
  boot_lead_minutes: 10,
  schedule_ahead_minutes: 35,
  idle_action: 'pause',
}

/** What LCM decides where it knows sessions only so far ahead, and stops machines after the idle timeout. */
export function schedulerPolicy(name: string, settings: SettingValues = SETTINGS): Policy {
  const planner = plannerPolicy(name)
  const idle = idleChecks(settings)
  const { schedule_ahead_minutes: ahead } = settings
  const aheadMs = ahead === AUTO ? Number.POSITIVE_INFINITY : ahead * MINUTE_MS
  return {
    name,
    decide: view => {
      const { nowMs } = view
      const later = view.sessions.filter(({ startMs }) => startMs > nowMs + aheadMs)
      const sessions = view.sessions.filter(({ startMs }) => startMs <= nowMs + aheadMs)
      const { orders, nextMs } = planner.decide({ ...view, sessions })
      const kept = orders.filter(({ kind }) => kind !== 'stop')
      const stops = idle.stops(view, new Set(kept.map(order => order.worker_id)))
      const seenMs = Math.min(...later.map(({ startMs }) => startMs - aheadMs))
      return { orders: [...kept, ...stops], nextMs: Math.min(nextMs, seenMs, idle.nextMs()) }
    },
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

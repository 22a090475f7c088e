import { RECENT_MAX, type Timings, timingId, timingsOf } from '@lcm/domain/calendar/timings'
import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toMs } from '@lcm/domain/instant'
import type { Plan, PlannedMachine, PlannedStep } from '@lcm/domain/plan/plan'
import { planFleet } from '@lcm/domain/plan/plan-fleet'
import type { PlanSettings } from '@lcm/domain/plan/plan-input'
import { demandOf } from '@lcm/domain/session/demand'
import { place } from '@lcm/domain/session/placement'
import type { Worker } from '@lcm/domain/worker/worker'
import { REGION } from './fleet.ts'
import type { FleetView, OpenSession, Order, Policy } from './policy.ts'
import { HOUR_MS, MINUTE_MS } from './trace.ts'

/** Sessions that start later don't change what is done now, so they are left out to save time. */
const AHEAD_MS = 4 * HOUR_MS
/** News of these only make a new plan. */
const NEWS_AHEAD_MS = 2 * HOUR_MS
/** A plan is made again at the latest after this long, and so soon while something waits for capacity. */
const PLAN_MS_MAX = 30 * MINUTE_MS
const RETRY_MS = 30_000

export const PLAN_SETTINGS: PlanSettings = {
  ...SETTING_DEFAULTS,
  max_workers_per_region: 500,
  boot_lead_minutes: 'auto',
  terminate_sleeping: false,
}

/** What LCM decides by its plan, which is made again whenever something changes or is due. */
export function plannerPolicy(name: string, settings: PlanSettings = PLAN_SETTINGS): Policy {
  const timings = measuredTimings()
  let previous: Plan | null = null
  let bought = 0
  let seen: readonly unknown[] = []
  let nextMs = Number.NEGATIVE_INFINITY

  const nextId = () => {
    bought += 1
    return `w-${String(bought).padStart(4, '0')}`
  }

  return {
    name,
    decide: view => {
      const { nowMs } = view
      const before = seen
      seen = newsOf(view)
      if (nowMs < nextMs && isSame(seen, before)) return { orders: [], nextMs }
      const measured = timings(view)
      const sessions = within(view, AHEAD_MS)
      const plan: Plan = planFleet({
        ...{ nowMs, settings, previous, region: REGION, bestEffort: new Set(), timings: measured },
        sessions: sessions.map(({ session }) => session),
        definitions: view.definitions,
        workers: view.workers,
        templates: [view.template],
      })
      previous = plan
      const byId = new Map(sessions.map(each => [each.session.id, each]))
      const done = plan.machines.map(machine => {
        const assigned = assignments(machine, byId, { view, timings: measured, settings })
        const powered = dueSteps(machine, { view, nextId })
        return { orders: [...assigned.orders, ...powered.orders], dueMs: Math.min(assigned.dueMs, powered.dueMs) }
      })
      nextMs = Math.min(nowMs + PLAN_MS_MAX, ...done.map(({ dueMs }) => (dueMs > nowMs ? dueMs : nowMs + RETRY_MS)))
      return { orders: done.flatMap(({ orders }) => orders), nextMs }
    },
  }
}

const within = ({ sessions, nowMs }: FleetView, aheadMs: number): OpenSession[] =>
  sessions.filter(({ startMs }) => startMs <= nowMs + aheadMs)

/** Documents are replaced when they change, so that they can be compared by identity. */
const newsOf = (view: FleetView): readonly unknown[] => [
  ...view.workers,
  ...within(view, NEWS_AHEAD_MS).map(({ session }) => session),
]

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at])

interface Done {
  readonly orders: Order[]
  /** When more is to do; now while something waits. */
  readonly dueMs: number
}

/** A session is assigned when its lab must start, to a worker that has the capacity now. Its ledger refuses it otherwise. */
function assignments(
  { worker_id, session_ids, late_starts }: PlannedMachine,
  sessions: ReadonlyMap<string, OpenSession>,
  { view, timings, settings }: { view: FleetView; timings: Timings; settings: PlanSettings },
): Done {
  const { nowMs, definitions } = view
  let worker = view.workers.find(({ id }) => id === worker_id)
  let dueMs = Number.POSITIVE_INFINITY
  const orders: Order[] = []
  for (const id of session_ids) {
    const open = sessions.get(id)
    const definition = definitions.get(open?.session.definition.id ?? '')
    if (open === undefined || definition === undefined) continue
    const late = late_starts?.[id]
    const fromMs = late === undefined ? open.startMs - timings.leadMs(definition, settings) : toMs(late)
    if (fromMs <= nowMs && worker !== undefined && isFree(worker, id, definition)) {
      orders.push({ kind: 'assign', session_id: id, worker_id: worker.id, labStartMs: nowMs })
      worker = withReservation(worker, id, definition.needs, open.session.updated_at)
    } else dueMs = Math.min(dueMs, fromMs)
  }
  return { orders, dueMs }
}

const isFree = (worker: Worker, id: string, definition: Parameters<typeof demandOf>[0]): boolean =>
  place(demandOf(definition, id), [worker]).candidates.length > 0

function dueSteps({ worker_id, steps }: PlannedMachine, parts: { view: FleetView; nextId: () => string }): Done {
  const { nowMs, workers } = parts.view
  const worker = workers.find(({ id }) => id === worker_id)
  const later = steps.find(({ at }) => toMs(at) > nowMs)
  const due = later === undefined ? steps : steps.slice(0, steps.indexOf(later))
  return {
    orders: due.flatMap(step => orderOf(step, worker, parts.nextId)),
    dueMs: later === undefined ? Number.POSITIVE_INFINITY : toMs(later.at),
  }
}

function orderOf(
  { kind, session_ids, because }: PlannedStep,
  worker: Worker | undefined,
  nextId: () => string,
): Order[] {
  if (kind === 'buy') return [{ kind, worker_id: nextId(), session_ids }]
  if (worker === undefined) return []
  if (kind === 'wake') return [{ kind, worker_id: worker.id, session_ids }]
  return kind === 'stop' && Object.keys(worker.reservations).length === 0
    ? [{ kind, worker_id: worker.id, because }]
    : []
}

/** The durations that were measured until now. They are computed again when there are new ones. */
function measuredTimings(): (view: FleetView) => Timings {
  let count = -1
  let known = timingsOf([])
  return ({ boots, labStartsMs, teardownsMs, template: { name } }) => {
    if (boots.length + teardownsMs.length === count) return known
    count = boots.length + teardownsMs.length
    const bootsMs = (isFirst: boolean) => boots.filter(boot => boot.isFirst === isFirst).map(({ ms }) => ms)
    known = timingsOf([
      { id: timingId.boot(name), recent_ms: bootsMs(false).slice(-RECENT_MAX) },
      { id: timingId.firstBoot(name), recent_ms: bootsMs(true).slice(-RECENT_MAX) },
      { id: timingId.teardown, recent_ms: teardownsMs.slice(-RECENT_MAX) },
      ...[...labStartsMs].map(([lab, all]) => ({ id: timingId.lab(lab), recent_ms: all.slice(-RECENT_MAX) })),
    ])
    return known
  }
}

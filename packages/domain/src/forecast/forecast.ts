import type { Span } from '../calendar/span.ts'
import { timingsOf } from '../calendar/timings.ts'
import { type LeastCost, leastCost, type TemplateMachine } from '../economy/least-cost.ts'
import { type FewestMachines, machinesOverTime } from '../economy/lower-bound.ts'
import { type LabSpan, STOP_MS } from '../economy/machine-model.ts'
import { type BudgetWindow, budgetLeft, hasBudget } from '../fleet/budget.ts'
import { committedSpending } from '../fleet/committed-spending.ts'
import { type Instant, toInstant, toMs } from '../instant.ts'
import { freeSeatsOf } from '../license/license-pool.ts'
import type { Plan, UnplacedSession } from '../plan/plan.ts'
import { planFleet } from '../plan/plan-fleet.ts'
import { licensedNodes } from '../session/free-capacity.ts'
import { isOver } from '../session/lablet-session.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import { workerOfTemplate } from '../worker/worker.ts'
import type { CalendarSession, FleetCalendar } from './fleet-calendar.ts'
import { type ForecastTotals, type LoadPoint, loadOverTime, peakOf, totalsOf } from './forecast-totals.ts'
import { type BookedSpan, clipped, type MachineUse } from './machine-use.ts'
import { bookedSpans, type Play, playPlan } from './play-plan.ts'
import { type Shortage, shortagesOf } from './shortages.ts'

/** A session that is not READY when its slot begins if its machine boots as long as the mean. */
export interface LateSession {
  readonly session_id: string
  readonly by_ms: number
}

export interface Forecast {
  readonly at: Instant
  readonly until: Instant
  readonly sessions: number
  /** The first moment with the most sessions; null without any. */
  readonly sessions_peak: LoadPoint | null
  readonly machines_peak: LoadPoint | null
  readonly totals: ForecastTotals
  readonly machines: readonly MachineUse[]
  readonly load: readonly LoadPoint[]
  /** The fewest machines that could hold the sessions with a machine, if labs could be split and moved at any moment. */
  readonly fewest: readonly FewestMachines[]
  readonly late: readonly LateSession[]
  /** Sessions that a slow boot would make late, because their machine is started for them. */
  readonly after_boot: number
  readonly unplaced: readonly UnplacedSession[]
  readonly shortages: readonly Shortage[]
  /** The least that the sessions with a machine cost, without disks; null without any. */
  readonly least: LeastCost | null
}

const DAY_MS = 86_400_000
/** More machines than anyone may buy. */
const WORKERS_UNLIMITED = 10_000

/** Plays the booked calendar forward: what the plan does if nothing is booked, canceled or ended early any more. */
export function forecastOf(calendar: FleetCalendar, days: number): Forecast {
  const fromMs = toMs(calendar.at)
  const within = { fromMs, untilMs: Math.min(toMs(calendar.until), fromMs + days * DAY_MS) }
  const sessions = calendar.sessions.filter(session => !isOver(session) && toMs(session.timeslot.end) > fromMs)
  const play: Play = { calendar: { ...calendar, sessions }, timings: timingsOf(calendar.timings), within }
  const spans = new Map([...bookedSpans(play)].filter(([, span]) => span.fromMs < within.untilMs))
  const { plan, machines } = played(play, spans)
  const unplaced = plan.unplaced.filter(({ session_id }) => spans.has(session_id))
  const load = loadOverTime([...spans.values()], machines, within)
  return {
    at: calendar.at,
    until: toInstant(within.untilMs),
    sessions: spans.size,
    sessions_peak: peakOf(load, 'sessions'),
    machines_peak: peakOf(load, 'machines'),
    totals: totalsOf(machines, within),
    machines,
    load,
    ...lateness(machines, play.calendar.sessions),
    unplaced,
    shortages: unplaced.length === 0 ? [] : shortagesOf(unplaced, spans, played(unlimited(play), spans).machines),
    ...leastOf(machines, play),
  }
}

type Spans = ReadonlyMap<string, BookedSpan>

function played(play: Play, spans: Spans): { plan: Plan; machines: MachineUse[] } {
  const { calendar, timings, within } = play
  const plan = planFleet({
    nowMs: within.fromMs,
    sessions: calendar.sessions.filter(({ id }) => spans.has(id)),
    definitions: new Map(calendar.definitions.map(definition => [definition.id, definition])),
    workers: calendar.workers,
    templates: calendar.templates,
    settings: calendar.settings,
    region: calendar.region,
    timings,
    previous: null,
    bestEffort: new Set(
      calendar.sessions.filter(({ admission }) => admission.kind === 'best_effort').map(({ id }) => id),
    ),
    licenses: freeSeatsOf(calendar.licenses),
    budgets: budgetsOf(play, spans),
  })
  return { plan, machines: playPlan(plan, spans, play) }
}

/** The budgets, less what was spent, what runs until the end of its sessions, and the disks. */
function budgetsOf({ calendar, within }: Play, spans: Spans): BudgetWindow[] {
  if (!hasBudget(calendar.settings)) return []
  const nowMs = within.fromMs
  const spent = calendar.spent_by_day.map(({ day, spent_usd }) => {
    const fromMs = toMs(`${day}T00:00:00.000Z`)
    return { fromMs, untilMs: Math.max(fromMs, Math.min(fromMs + DAY_MS, nowMs)), usd: spent_usd }
  })
  const endsMs = new Map([...spans].map(([id, { untilMs }]) => [id, untilMs]))
  const { workers } = calendar
  const committed = committedSpending({ workers, commitments: {}, endsMs, nowMs, untilMs: within.untilMs })
  return budgetLeft(calendar.settings, within, { spent, committed })
}

const unlimited = (play: Play): Play => ({
  ...play,
  calendar: {
    ...play.calendar,
    licenses: [],
    settings: {
      ...play.calendar.settings,
      scale_up_enabled: true,
      max_workers_per_region: WORKERS_UNLIMITED,
      budget_usd_per_day: 'off',
      budget_usd_per_month: 'off',
    },
  },
})

const MINUTE_MS = 60_000

/** A lab that starts before its machine serves waits for the boot. */
function lateness(
  machines: readonly MachineUse[],
  sessions: readonly CalendarSession[],
): Pick<Forecast, 'late' | 'after_boot'> {
  const waiting = new Set(
    sessions.filter(({ status }) => status === 'PENDING' || status === 'SCHEDULED').map(({ id }) => id),
  )
  const late: LateSession[] = []
  let after_boot = 0
  for (const { sessions: held, awake } of machines)
    for (const { session_id, fromMs } of held) {
      if (!waiting.has(session_id)) continue
      const time = awake.find(({ untilMs }) => untilMs > fromMs)
      if (time === undefined) continue
      const by_ms = time.servesMs - fromMs
      if (by_ms >= MINUTE_MS) late.push({ session_id, by_ms })
      if (by_ms < MINUTE_MS && isFirstUse(held, fromMs, time)) after_boot += 1
    }
  return { late, after_boot }
}

/** Whether nothing has used the machine since it was started, so that it was started for this lab. */
const isFirstUse = (held: readonly BookedSpan[], fromMs: number, time: Span & { readonly servesMs: number }): boolean =>
  time.servesMs > time.fromMs && !held.some(other => other.fromMs < fromMs && other.untilMs > time.fromMs)

/** On machines of one template, enabled or in use, with its license. */
function leastOf(machines: readonly MachineUse[], play: Play): Pick<Forecast, 'least' | 'fewest'> {
  const used = new Set(machines.filter(({ sessions }) => sessions.length > 0).map(({ template_name }) => template_name))
  const models = play.calendar.templates
    .filter(({ name, enabled }) => enabled || used.has(name))
    .map(template => machineModel(template, machines, play))
  const labs = labSpans(machines, play)
  const least = leastCost(labs, models)
  const model = models.find(({ template_name }) => template_name === least?.template_names[0])
  return { least, fewest: model === undefined ? [] : [...machinesOverTime(labs, model)] }
}

function machineModel(
  template: WorkerTemplate,
  machines: readonly MachineUse[],
  { calendar, timings, within }: Play,
): TemplateMachine {
  return {
    template_name: template.name,
    capacity: { ...template.capacity, max_nodes: licensedNodes(workerOfTemplate('', template, calendar.at)) },
    usd_per_hour: template.cost_per_hour_usd,
    boot_ms: timings.bootMs(template.name).meanMs,
    first_boot_ms: 0,
    stop_ms: STOP_MS,
    running: { count: machines.filter(runsNow(template.name, within)).length, at_ms: within.fromMs },
  }
}

const runsNow =
  (template: string, { fromMs }: Span) =>
  ({ template_name, awake, marks }: MachineUse): boolean =>
    template_name === template &&
    awake[0]?.fromMs === fromMs &&
    !marks.some(({ kind, atMs }) => atMs === fromMs && (kind === 'wake' || kind === 'buy'))

function labSpans(machines: readonly MachineUse[], { calendar, within }: Play): LabSpan[] {
  const needs = new Map(calendar.sessions.map(session => [session.id, session.needs]))
  return machines.flatMap(machine =>
    machine.sessions.flatMap(span => {
      const { fromMs, untilMs } = clipped(span, within)
      const needed = needs.get(span.session_id)
      return needed === undefined ? [] : [{ needs: needed, from_ms: fromMs, until_ms: untilMs }]
    }),
  )
}

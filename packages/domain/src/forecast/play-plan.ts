import { type Span, spanOf } from '../calendar/span.ts'
import type { Timings } from '../calendar/timings.ts'
import { effectiveIdleAction } from '../fleet/decide-idle.ts'
import { diskUsdPerHour } from '../fleet/machine-facts.ts'
import type { SettingValues } from '../fleet/settings.ts'
import { toMs } from '../instant.ts'
import type { Plan, PlannedMachine } from '../plan/plan.ts'
import { diskPerHour } from '../worker/cost.ts'
import type { Worker } from '../worker/worker.ts'
import { awakeByPlan, awakeByTimeout, type MachineStart, type Wakefulness, withMinimum } from './awake-times.ts'
import type { FleetCalendar } from './fleet-calendar.ts'
import type { BookedSpan, MachineUse } from './machine-use.ts'

export interface Play {
  readonly calendar: FleetCalendar
  readonly timings: Timings
  readonly within: Span
}

/** When each session needs its lab, by id. The past of a lab that is up doesn't count. */
export function bookedSpans({ calendar, timings, within }: Play): ReadonlyMap<string, BookedSpan> {
  const definitions = new Map(calendar.definitions.map(definition => [definition.id, definition]))
  return new Map(
    calendar.sessions.flatMap((session): [string, BookedSpan][] => {
      const definition = definitions.get(session.definition.id)
      if (definition === undefined) return []
      const { fromMs, untilMs } = spanOf(session, definition, timings, calendar.settings)
      return [[session.id, { session_id: session.id, fromMs: Math.max(within.fromMs, fromMs), untilMs }]]
    }),
  )
}

/** All machines that cost anything: those of the plan, and workers that it doesn't need. */
export function playPlan(plan: Plan, spans: ReadonlyMap<string, BookedSpan>, play: Play): MachineUse[] {
  const { calendar, within } = play
  const workers = new Map(calendar.workers.map(worker => [worker.id, worker]))
  const placed = placedSessions(calendar)
  const planned = plan.machines.map(machine => {
    const ids = [...machine.session_ids, ...(placed.get(machine.worker_id ?? '') ?? [])]
    const sessions = [...new Set(ids)].flatMap(id => spans.get(id) ?? []).sort((a, b) => a.fromMs - b.fromMs)
    return machineUse({ machine, sessions, worker: workers.get(machine.worker_id ?? '') ?? null }, play)
  })
  const bought = new Map<string, number>()
  const numbered = planned.map(machine => {
    if (machine.worker_id !== null) return machine
    const number = (bought.get(machine.template_name) ?? 0) + 1
    bought.set(machine.template_name, number)
    return { ...machine, name: `${machine.name} ${number}` }
  })
  const named = new Set(plan.machines.map(({ worker_id }) => worker_id))
  const others = calendar.workers
    .filter(({ id, billing }) => !named.has(id) && billing.cause !== null)
    .map(worker => {
      const machine = {
        key: worker.id,
        worker_id: worker.id,
        template_name: worker.template_name,
        session_ids: [],
        steps: [],
      }
      return machineUse({ machine, sessions: [], worker }, play)
    })
  return withMinimum([...numbered, ...others], calendar.settings.min_workers, within.untilMs)
}

/** The ids of sessions that are on a worker already, by worker. */
function placedSessions({ sessions }: FleetCalendar): ReadonlyMap<string, readonly string[]> {
  const placed = new Map<string, string[]>()
  for (const { id, worker_id } of sessions) {
    if (worker_id === null) continue
    const ids = placed.get(worker_id) ?? []
    placed.set(worker_id, ids)
    ids.push(id)
  }
  return placed
}

interface Planned {
  readonly machine: PlannedMachine
  readonly worker: Worker | null
  readonly sessions: readonly BookedSpan[]
}

function machineUse({ machine, worker, sessions }: Planned, play: Play): MachineUse {
  const { calendar, within } = play
  const { key, worker_id, template_name } = machine
  const template = calendar.templates.find(({ name }) => name === template_name)
  const disk = diskUsdPerHour(template?.root_volume_gb ?? 0, calendar.disk_usd_per_gb_month)
  const wakefulness = wakefulnessOf({ machine, worker, sessions }, play)
  const boughtMs = wakefulness.marks.find(({ kind }) => kind === 'buy')?.atMs ?? within.fromMs
  const goneMs = wakefulness.marks.find(({ kind }) => kind === 'terminate')?.atMs ?? within.untilMs
  return {
    key,
    name: worker?.name ?? `new ${template_name}`,
    worker_id,
    template_name,
    usd_per_hour: (worker === null ? template?.cost_per_hour_usd : worker.cost_per_hour_usd) ?? 0,
    disk_usd_per_hour: worker === null ? disk : diskPerHour(worker),
    sessions,
    exists: { fromMs: boughtMs, untilMs: goneMs },
    ...wakefulness,
  }
}

function wakefulnessOf({ machine, worker, sessions }: Planned, { calendar, timings, within }: Play): Wakefulness {
  const start: MachineStart = {
    nowMs: within.fromMs,
    untilMs: within.untilMs,
    servesMs: worker === null ? null : servesMs(worker, within.fromMs, timings),
    boot: timings.bootMs(machine.template_name),
    firstBoot: worker === null ? timings.firstBootMs(machine.template_name) : null,
  }
  const timeoutMs = idleTimeoutMs(calendar.settings, worker)
  return timeoutMs === null ? awakeByPlan(machine.steps, start) : awakeByTimeout(sessions, timeoutMs, start)
}

/** When the CML of a worker serves; null if its machine isn't billed. */
function servesMs({ billing, template_name }: Worker, nowMs: number, timings: Timings): number | null {
  if (billing.cause === null || billing.cause === 'stopped') return null
  if (billing.cause !== 'boot' || billing.since === null) return nowMs
  return Math.max(nowMs, toMs(billing.since) + timings.bootMs(template_name).meanMs)
}

/** How long a machine without sessions runs on; null if the calendar decides, infinite if no policy stops it. */
function idleTimeoutMs(settings: SettingValues, worker: Worker | null): number | null {
  const { idle_detection_enabled, idle_timeout_seconds } = settings
  const isKept = worker !== null && (worker.protected || !worker.idle_detection_enabled)
  const isStopped = idle_detection_enabled && effectiveIdleAction(settings) !== 'none' && !isKept
  return isStopped ? idle_timeout_seconds * 1000 : Number.POSITIVE_INFINITY
}

import { type Span, spanOf } from '../calendar/span.ts'
import type { Timings } from '../calendar/timings.ts'
import { effectiveIdleAction, referenceMs } from '../fleet/decide-idle.ts'
import { isUsedByHand } from '../fleet/idle-calendar.ts'
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
    .filter(
      worker => !named.has(worker.id) && (worker.billing.cause !== null || bootSinceMs(worker, within.fromMs) !== null),
    )
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
    disk_usd_per_hour: worker === null || isToLaunch(worker) ? disk : diskPerHour(worker),
    sessions,
    exists: { fromMs: boughtMs, untilMs: goneMs },
    ...wakefulness,
  }
}

function wakefulnessOf({ machine, worker, sessions }: Planned, { calendar, timings, within }: Play): Wakefulness {
  const nowMs = within.fromMs
  const serves = worker === null ? null : servesMs(worker, nowMs, timings)
  const start: MachineStart = {
    nowMs,
    untilMs: within.untilMs,
    servesMs: serves,
    lastUseMs: worker === null || serves === null || serves > nowMs ? (serves ?? nowMs) : referenceMs(worker, null),
    boot: timings.bootMs(machine.template_name),
    firstBoot: worker === null ? timings.firstBootMs(machine.template_name) : null,
  }
  const timeoutMs = idleTimeoutMs(calendar.settings, worker)
  if (timeoutMs !== null) return awakeByTimeout(sessions, timeoutMs, start)
  const isByHand = worker !== null && isUsedByHand(worker, null)
  const keptUntilMs = isByHand ? start.lastUseMs + calendar.settings.idle_timeout_seconds * 1000 : 0
  return awakeByPlan(machine.steps, start, keptUntilMs)
}

/** When the CML of a worker serves; null if its machine neither runs nor is being started. */
function servesMs(worker: Worker, nowMs: number, timings: Timings): number | null {
  const { billing, cml, template_name } = worker
  const isBilled = billing.cause !== null && billing.cause !== 'stopped'
  const startedMs = bootSinceMs(worker, nowMs)
  if (startedMs === null) return isBilled ? nowMs : null
  const boot = cml.version === null ? timings.firstBootMs(template_name) : timings.bootMs(template_name)
  return Math.max(nowMs, startedMs + boot.meanMs)
}

/** The disks of imported machines are unknown, and cost nothing in the past either. */
const isToLaunch = ({ launch, origin }: Worker): boolean => launch === null && origin !== 'DISCOVERY'

/** Since when its machine boots; null if it doesn't. One that waits for its launch boots from now on. */
function bootSinceMs({ status, desired_status, entered_status_at }: Worker, nowMs: number): number | null {
  if (status === 'STARTING') return toMs(entered_status_at)
  return desired_status === 'RUNNING' && (status === 'PENDING' || status === 'PROVISIONING') ? nowMs : null
}

/** How long a machine without sessions runs on; null if the calendar decides, infinite if no policy stops it. */
function idleTimeoutMs(settings: SettingValues, worker: Worker | null): number | null {
  const { idle_detection_enabled, idle_timeout_seconds } = settings
  const action = effectiveIdleAction(settings)
  const isKept = worker !== null && (worker.protected || !worker.idle_detection_enabled)
  if (!idle_detection_enabled || action === 'none' || isKept) return Number.POSITIVE_INFINITY
  return action === 'calendar' ? null : idle_timeout_seconds * 1000
}

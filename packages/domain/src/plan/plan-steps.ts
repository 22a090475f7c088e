import { busySpans, pauseMs, peakOver, totalMs } from '../calendar/machine-calendar.ts'
import type { Span } from '../calendar/span.ts'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import { nodesMax } from '../session/free-capacity.ts'
import { isDisposable } from './is-disposable.ts'
import type { Machine } from './machine-state.ts'
import { PLAN_HORIZON_MS, type PlannedMachine, type PlannedStep } from './plan.ts'
import type { PlanInput } from './plan-input.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** What the machine costs from now on. A machine that can't be stopped costs the same for every plan. */
export function usdOf({ calendar, times, firstExtraMs, usdPerHour, placed }: Machine): number {
  const ms = totalMs(calendar, times) + (placed.length > 0 ? firstExtraMs : 0)
  return Number.isFinite(ms) ? (ms * usdPerHour) / HOUR_MS : 0
}

/** What a machine does until the plan ends. */
export function plannedMachine(machine: Machine, input: PlanInput): PlannedMachine {
  const { key, worker, template } = machine
  const placed = machine.placed.toSorted(
    (a, b) => a.span.fromMs - b.span.fromMs || (a.task.session.id < b.task.session.id ? -1 : 1),
  )
  const late = placed.filter(({ task, span }) => span.fromMs > task.wanted.fromMs)
  return {
    key,
    worker_id: worker?.id ?? null,
    template_name: template,
    session_ids: placed.map(({ task }) => task.session.id),
    ...(late.length === 0
      ? {}
      : { late_starts: Object.fromEntries(late.map(({ task, span }) => [task.session.id, toInstant(span.fromMs)])) }),
    steps: [...stepsOf({ ...machine, placed }, input.nowMs), ...terminationOf(machine, input)],
  }
}

function stepsOf(machine: Machine, nowMs: number): PlannedStep[] {
  const { calendar, times } = machine
  // Its start is tried again and again, which costs nothing.
  if (machine.isRefused) return []
  const steps: PlannedStep[] = []
  let awakeMs = calendar.awakeUntilMs
  for (const [index, busy] of busySpans(calendar).entries()) {
    const pause = { fromMs: awakeMs, untilMs: busy.fromMs }
    const ms = busy.fromMs - awakeMs
    const sleeps = ms >= times.wakeMs + times.stopMs && pauseMs(times, ms) < ms
    if (ms > 0 && Number.isFinite(ms)) steps.push(pauseStep(machine, pause, sleeps))
    if (sleeps) steps.push(startStep(machine, busy.fromMs, { isFirst: index === 0, nowMs }))
    awakeMs = Math.max(awakeMs, busy.untilMs)
  }
  if (Number.isFinite(awakeMs)) {
    const because = reason('plan_stop_unused', { until: toInstant(nowMs + PLAN_HORIZON_MS) })
    steps.push({ kind: 'stop', at: toInstant(awakeMs), because, usd: 0, session_ids: [] })
  }
  return withPrices(machine.mayStop ? steps : steps.filter(({ kind }) => kind === 'wake').slice(0, 1), machine)
}

const usd = (ms: number, { usdPerHour }: Machine): number => cents((ms / HOUR_MS) * usdPerHour)
const cents = (amount: number): number => Math.round(amount * 100) / 100

/** The machine stays on, or is stopped and started again, whichever costs less. */
function pauseStep(machine: Machine, { fromMs, untilMs }: Span, sleeps: boolean): PlannedStep {
  const { wakeMs, stopMs } = machine.times
  const next_use = toInstant(untilMs)
  const prices = { next_use, staying_usd: usd(untilMs - fromMs, machine), sleeping_usd: usd(wakeMs, machine) }
  const step = { at: toInstant(fromMs), usd: 0, session_ids: [] }
  if (sleeps) return { ...step, kind: 'stop', because: reason('plan_stop', prices) }
  const minutes = Math.ceil((wakeMs + stopMs) / MINUTE_MS)
  const because =
    untilMs - fromMs < wakeMs + stopMs ? reason('plan_stay_short', { next_use, minutes }) : reason('plan_stay', prices)
  return { ...step, kind: 'stay', because }
}

function startStep(
  machine: Machine,
  firstUseMs: number,
  { isFirst, nowMs }: { isFirst: boolean; nowMs: number },
): PlannedStep {
  const { worker, times, firstExtraMs, template, placed } = machine
  const leadMs = times.wakeMs + (isFirst ? firstExtraMs : 0)
  // Later sessions may still move to another machine.
  const session_ids = placed
    .filter(({ span }) => span.fromMs >= firstUseMs && span.fromMs < firstUseMs + leadMs)
    .map(({ task }) => task.session.id)
  const params = {
    sessions: session_ids.length,
    first_use: toInstant(firstUseMs),
    minutes: Math.ceil(leadMs / MINUTE_MS),
  }
  const step = { at: toInstant(Math.max(nowMs, firstUseMs - leadMs)), usd: 0, session_ids }
  return worker === null && isFirst
    ? { ...step, kind: 'buy', because: reason('plan_buy', { ...params, template, ...licenseLimitOf(machine) }) }
    : { ...step, kind: 'wake', because: reason('plan_wake', params) }
}

/** The nodes that its license allows, where they are what its sessions use up first. */
function licenseLimitOf({ host, calendar }: Machine): {
  license: string | null
  nodes: number
  nodes_possible: number
} {
  const { cpu_cores, memory_gb, max_nodes } = host.worker.capacity.declared ?? NO_CAPACITY
  const nodes = nodesMax(host.worker)
  const peak = peakOver(calendar, ALWAYS)
  const share = peak.nodes / nodes
  const isLimit = nodes < max_nodes && share > peak.cpu_cores / cpu_cores && share > peak.memory_gb / memory_gb
  return { license: isLimit ? host.worker.license.product : null, nodes, nodes_possible: max_nodes }
}
const NO_CAPACITY = { cpu_cores: 0, memory_gb: 0, max_nodes: 0 }
const ALWAYS: Span = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }

/** Each step costs what the machine costs until the next one. */
const withPrices = (steps: readonly PlannedStep[], machine: Machine): PlannedStep[] =>
  steps.map((step, index) => {
    const next = steps[index + 1]
    return step.kind === 'stop' || next === undefined
      ? step
      : { ...step, usd: usd(toMs(next.at) - toMs(step.at), machine) }
  })

/** A machine without any use is terminated once keeping its disk costs more than the longer boot of a new machine. */
function terminationOf(machine: Machine, { settings, nowMs, foreignLabs, timings }: PlanInput): PlannedStep[] {
  const { worker, template, placed, held } = machine
  if (!settings.terminate_sleeping || worker === null || !isDisposable(worker)) return []
  if (placed.length > 0 || held.size > 0 || foreignLabs?.has(worker.id) === true) return []
  const extraMs = timings.firstBootMs(template).meanMs - timings.bootMs(template).meanMs
  const new_usd = (Math.max(0, extraMs) * machine.usdPerHour) / HOUR_MS
  const disk_usd = ((worker.disk?.usd_per_hour ?? 0) * PLAN_HORIZON_MS) / HOUR_MS
  if (disk_usd <= new_usd) return []
  const until = toInstant(nowMs + PLAN_HORIZON_MS)
  const because = reason('plan_terminate', { until, disk_usd: cents(disk_usd), new_usd: cents(new_usd) })
  return [{ kind: 'terminate', at: toInstant(nowMs), because, usd: 0, session_ids: [] }]
}

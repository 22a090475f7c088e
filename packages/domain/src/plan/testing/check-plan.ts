import { spanOf } from '../../calendar/span.ts'
import { toMs } from '../../instant.ts'
import { nodesMax } from '../../session/free-capacity.ts'
import type { Plan, PlannedMachine } from '../plan.ts'
import type { PlanInput } from '../plan-input.ts'

/** The faults of a plan; empty without any. It is computed without the planner's own calendars. */
export function faultsOf(input: PlanInput, plan: Plan): string[] {
  return [
    ...placedOnce(input, plan),
    ...plan.machines.flatMap(machine => [
      ...overfull(input, machine),
      ...notAwake(input, machine),
      ...outOfOrder(machine),
    ]),
    ...beyondLimits(input, plan),
  ]
}

/** Every waiting session is on one machine, or unplaced. */
function placedOnce({ sessions, nowMs }: PlanInput, { machines, unplaced }: Plan): string[] {
  const places = [
    ...machines.flatMap(({ session_ids }) => session_ids),
    ...unplaced.map(({ session_id }) => session_id),
  ]
  const waiting = sessions.filter(
    ({ status, desired_status, timeslot }) =>
      status === 'PENDING' && desired_status === 'RUNNING' && toMs(timeslot.end) > nowMs,
  )
  return [
    ...waiting
      .filter(({ id }) => places.filter(each => each === id).length !== 1)
      .map(({ id }) => `${id} is not placed once`),
    ...places.filter(id => !waiting.some(each => each.id === id)).map(id => `${id} does not wait`),
  ]
}

interface Use {
  readonly id: string
  readonly fromMs: number
  readonly untilMs: number
  readonly cpu: number
  readonly nodes: number
}

function usesOf(input: PlanInput, { worker_id, session_ids, late_starts }: PlannedMachine): Use[] {
  const { nowMs, sessions, definitions, timings, settings, workers } = input
  const held = workers.find(({ id }) => id === worker_id)?.reservations ?? {}
  return sessions.flatMap(session => {
    const definition = definitions.get(session.definition.id)
    const isPlaced = session_ids.includes(session.id)
    if (definition === undefined || (!isPlaced && !(session.id in held))) return []
    const span = spanOf(session, definition, timings, settings)
    const late = late_starts?.[session.id]
    const { cpu_cores: cpu, node_count: nodes } = session.needs
    const endMs = session.status === 'STOPPING' ? toMs(session.entered_status_at) + timings.teardownMs : span.untilMs
    const untilMs = isPlaced || endMs > nowMs ? endMs : nowMs + timings.teardownMs
    return [
      { id: session.id, fromMs: Math.max(nowMs, late === undefined ? span.fromMs : toMs(late)), untilMs, cpu, nodes },
    ]
  })
}

function overfull(input: PlanInput, machine: PlannedMachine): string[] {
  const worker = input.workers.find(({ id }) => id === machine.worker_id)
  const template = input.templates.find(({ name }) => name === machine.template_name)
  const capacity = worker?.capacity.declared ?? template?.capacity
  if (capacity === undefined) return [`${machine.key} has no capacity`]
  const nodes = worker === undefined ? 5 : nodesMax(worker)
  const uses = usesOf(input, machine)
  return uses.flatMap(({ fromMs }) => {
    const at = uses.filter(use => use.fromMs <= fromMs && fromMs < use.untilMs)
    const sum = (amount: (use: Use) => number) => at.reduce((total, use) => total + amount(use), 0)
    const isOver = sum(({ cpu }) => cpu) > capacity.cpu_cores + 1e-6 || sum(({ nodes: each }) => each) > nodes
    return isOver ? [`${machine.key} is overfull with ${at.map(({ id }) => id).join(', ')}`] : []
  })
}

/** A machine is started in time for each session on it that is not late, and not stopped before. */
function notAwake({ nowMs, workers, timings, ...input }: PlanInput, machine: PlannedMachine): string[] {
  const worker = workers.find(({ id }) => id === machine.worker_id)
  const isOn = worker?.desired_status === 'RUNNING'
  return usesOf({ nowMs, workers, timings, ...input }, machine).flatMap(({ id, fromMs }) => {
    const before = machine.steps.findLast(({ kind, at }) => kind !== 'stay' && toMs(at) <= fromMs)
    if (before === undefined) return isOn ? [] : [`${machine.key} is not started for ${id}`]
    if (before.kind === 'stop' || before.kind === 'terminate')
      return toMs(before.at) < fromMs ? [`${machine.key} is stopped before ${id}`] : []
    const isFirst = before === machine.steps[0] && !isOn && (worker === undefined || worker.cml.version === null)
    const { wakeMs } = isFirst ? timings.firstBootMs(machine.template_name) : timings.bootMs(machine.template_name)
    return toMs(before.at) + wakeMs > fromMs ? [`${machine.key} is started at ${before.at}, too late for ${id}`] : []
  })
}

function outOfOrder({ key, steps }: PlannedMachine): string[] {
  return steps.flatMap(({ kind, at }, index) => {
    const before = steps[index - 1]
    if (before === undefined) return []
    const isLater = toMs(before.at) <= toMs(at)
    const isStart = kind === 'wake' || kind === 'buy'
    const follows = isStart ? before.kind === 'stop' : before.kind !== 'stop'
    return isLater && follows ? [] : [`${key}: ${kind} at ${at} after ${before.kind} at ${before.at}`]
  })
}

function beyondLimits({ workers, templates, settings, licenses }: PlanInput, { machines }: Plan): string[] {
  const bought = machines.filter(({ worker_id }) => worker_id === null)
  const present = workers.filter(({ status }) => status !== 'TERMINATED').length
  const isOver = bought.length > 0 && present + bought.length > settings.max_workers_per_region
  return [
    ...(isOver ? [`${bought.length} machines are bought beyond the limit`] : []),
    ...[...(licenses ?? [])].flatMap(([product, seats]) => {
      const names = templates.filter(({ license_product }) => license_product === product).map(({ name }) => name)
      const taken = bought.filter(({ template_name }) => names.includes(template_name)).length
      return taken > seats ? [`${taken} of ${seats} licenses of ${product} are taken`] : []
    }),
  ]
}

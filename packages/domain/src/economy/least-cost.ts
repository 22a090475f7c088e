import { type FeasibleSchedule, feasibleSchedule } from './feasible-schedule.ts'
import { lowerBound } from './lower-bound.ts'
import {
  isRunnable,
  type LabSpan,
  type MachineModel,
  type MachineTime,
  machineTime,
  type RunningMachines,
} from './machine-model.ts'

export interface TemplateMachine extends MachineModel {
  readonly template_name: string
  readonly running: RunningMachines
}

/** The least that labs cost, if every end had been known beforehand and all labs ran on machines of one template. */
export interface LeastCost {
  /** The template that is cheapest for them, and those of labs that it doesn't hold. */
  readonly template_names: readonly string[]
  /** Labs that a machine holds. */
  readonly labs: number
  /** No schedule costs less. */
  readonly bound: MachineTime
  /** A schedule that could be carried out. */
  readonly feasible: MachineTime
}

/** Null without labs that any of the machines holds. */
export function leastCost(labs: readonly LabSpan[], machines: readonly TemplateMachine[]): LeastCost | null {
  let least: LeastCost | null = null
  for (const machine of machines) {
    const held = labs.filter(lab => isRunnable(lab, machine))
    if (held.length === 0) continue
    const others = labs.filter(lab => lab.until_ms > lab.from_ms && !isRunnable(lab, machine))
    const rest = leastCost(
      others,
      machines.filter(other => other !== machine),
    )
    least = cheaper(least, together(leastOn(held, machine), rest))
  }
  return least
}

const leastOn = (labs: readonly LabSpan[], machine: TemplateMachine): LeastCost => ({
  template_names: [machine.template_name],
  labs: labs.length,
  bound: lowerBound(labs, machine, machine.running),
  feasible: withRunning(feasibleSchedule(labs, machine), machine),
})

/** Running machines take the first uses, each instead of its boot if that costs less. */
function withRunning({ labs, ...time }: FeasibleSchedule, machine: TemplateMachine): MachineTime {
  const { boot_ms, running } = machine
  const pauses = labs
    .map(held => Math.min(...held.map(({ from_ms }) => from_ms)) - running.at_ms)
    .sort((a, b) => a - b)
    .slice(0, running.count)
    .filter(pause => pause < boot_ms)
  const saved = pauses.reduce((sum, pause) => sum + boot_ms - pause, 0)
  return sum(time, { ...machineTime(machine, { ms: -saved, boots: -pauses.length, machines: 0 }) })
}

const sum = (a: MachineTime, b: MachineTime): MachineTime => ({
  usd: a.usd + b.usd,
  hours: a.hours + b.hours,
  boots: a.boots + b.boots,
  machines: a.machines + b.machines,
})

const together = (a: LeastCost, b: LeastCost | null): LeastCost =>
  b === null
    ? a
    : {
        template_names: [...a.template_names, ...b.template_names],
        labs: a.labs + b.labs,
        bound: sum(a.bound, b.bound),
        feasible: sum(a.feasible, b.feasible),
      }

/** More labs first: a template that holds only some of them can't carry out the schedule. */
function cheaper(a: LeastCost | null, b: LeastCost): LeastCost {
  if (a === null || b.labs > a.labs) return b
  if (b.labs < a.labs) return a
  const [first, second] = b.feasible.usd < a.feasible.usd ? [b, a] : [a, b]
  return second.bound.usd < first.bound.usd ? { ...first, bound: second.bound } : first
}

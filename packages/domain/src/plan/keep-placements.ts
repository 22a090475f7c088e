import { accepts, boughtFor, type Machine, type Task } from './machine-state.ts'
import { type Fleet, obstacleTo, optionOn, take } from './place-tasks.ts'
import type { PlannedMachine } from './plan.ts'
import type { PlanInput } from './plan-input.ts'

/** Which placements of the plan before are kept: those that begin soon, all, or none. */
export type Kept = 'near' | 'all' | 'none'

/**
 * Leaves sessions where they are: on the machine that was started for them, else where the plan before has them. So no machine is
 * started in vain, or stopped and woken for the same session.
 */
export function keepPlacements(tasks: readonly Task[], fleet: Fleet, input: PlanInput, kept: Kept): ReadonlySet<Task> {
  const done = new Set<Task>()
  if (kept === 'none') return done
  const machineFor = machinesBefore(fleet, input, kept)
  for (const task of tasks) {
    const machine = machineFor(task)
    if (machine === null || !(kept === 'all' || isNear(task, machine, input)) || !accepts(machine, task)) continue
    const option = optionOn(machine, task, input.nowMs)
    if (option === null || obstacleTo(option, fleet) !== null) continue
    if (option.lateMs > 0 && (machine.isLate || !machine.isOn)) continue
    if (!fleet.machines.includes(machine)) {
      fleet.machines.push(machine)
      fleet.vacancies -= 1
    }
    take(option, task, fleet)
    done.add(task)
  }
  return done
}

/** Whether another machine could hardly be started in time any more. */
function isNear({ wanted }: Task, { template, times }: Machine, { nowMs, timings }: PlanInput): boolean {
  const startMs = Math.max(times.wakeMs + times.stopMs, timings.firstBootMs(template).wakeMs)
  return wanted.fromMs <= nowMs + startMs
}

function machinesBefore(fleet: Fleet, { previous }: PlanInput, kept: Kept): (task: Task) => Machine | null {
  const byKey = new Map(fleet.machines.map(machine => [machine.key, machine]))
  const startedFor = new Map<string, Machine>()
  for (const machine of fleet.machines)
    if (machine.isOn) for (const id of machine.worker?.wanted_by ?? []) startedFor.set(id, machine)
  const before = new Map<string, PlannedMachine>()
  for (const machine of previous?.machines ?? []) for (const id of machine.session_ids) before.set(id, machine)
  return task => {
    const started = startedFor.get(task.session.id)
    if (started !== undefined) return started
    const planned = before.get(task.session.id)
    if (planned === undefined) return null
    const found = byKey.get(planned.key) ?? boughtBefore(planned, startedFor)
    if (found !== null || kept !== 'all') return found
    const offer = fleet.offers.find(({ template }) => template === planned.template_name)
    if (offer === undefined) return null
    const again = { ...boughtFor(offer, task), key: planned.key }
    byKey.set(planned.key, again)
    return again
  }
}

/** A machine that the plan before would buy may be a worker by now. */
function boughtBefore({ session_ids }: PlannedMachine, startedFor: ReadonlyMap<string, Machine>): Machine | null {
  const id = session_ids.find(each => startedFor.has(each))
  return (id === undefined ? undefined : startedFor.get(id)) ?? null
}

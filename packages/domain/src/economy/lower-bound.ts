import {
  isRunnable,
  type LabSpan,
  type MachineModel,
  type MachineTime,
  machineTime,
  NONE_RUN,
  type RunningMachines,
} from './machine-model.ts'
import { packingBound, type Shares, sharesOf } from './packing-bound.ts'

/**
 * The least that any schedule of these labs costs, even of those who know every start and end beforehand. At each moment as many
 * machines run as the packing bound says; machine by machine, a gap is bridged or slept through, whichever is cheaper. Labs that no
 * machine holds are left out.
 */
export function lowerBound(
  spans: readonly LabSpan[],
  machine: MachineModel,
  { count, at_ms }: RunningMachines = NONE_RUN,
): MachineTime {
  const busyUntil = new Array<number>(count).fill(at_ms)
  let [ms, boots, most] = [0, 0, 0]
  for (const { from, until, machines } of machinesOverTime(spans, machine)) {
    ms += machines * (until - from)
    most = Math.max(most, machines)
    for (let level = 0; level < machines; level += 1) {
      const gap = from - (busyUntil[level] ?? Number.NEGATIVE_INFINITY)
      ms += Math.min(gap, machine.boot_ms)
      boots += gap > machine.boot_ms ? 1 : 0
      busyUntil[level] = until
    }
  }
  return machineTime(machine, { ms, boots, machines: most })
}

/** From one start or end of a lab to the next. */
export interface FewestMachines {
  readonly from: number
  readonly until: number
  readonly machines: number
}

/** The fewest machines that could hold the labs at each moment. */
export function* machinesOverTime(spans: readonly LabSpan[], machine: MachineModel): Generator<FewestMachines> {
  const kinds = new Map<string, { readonly kind: number; readonly shares: Shares }>()
  const changes: { at: number; kind: number; by: 1 | -1 }[] = []
  for (const { needs, from_ms, until_ms } of spans.filter(span => isRunnable(span, machine))) {
    const shares = sharesOf(needs, machine.capacity)
    const { kind } = kinds.get(shares.join(' ')) ?? { kind: kinds.size }
    kinds.set(shares.join(' '), { kind, shares })
    changes.push({ at: from_ms, kind, by: 1 }, { at: until_ms, kind, by: -1 })
  }
  changes.sort((a, b) => a.at - b.at)
  const machinesFor = packingBound([...kinds.values()].map(({ shares }) => shares))
  const counts = [...kinds.values()].map(() => 0)
  for (const [index, { at, kind, by }] of changes.entries()) {
    counts[kind] = (counts[kind] ?? 0) + by
    const until = changes[index + 1]?.at ?? at
    if (until > at) yield { from: at, until, machines: machinesFor(counts) }
  }
}

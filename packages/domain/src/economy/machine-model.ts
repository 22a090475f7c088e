import type { LabNeeds } from '../lab/topology.ts'
import type { Capacity } from '../template/worker-template.ts'
import { fitsIn, sharesOf, WHOLE_MACHINE } from './packing-bound.ts'

const HOUR_MS = 3_600_000
/** Until a stopping machine may start again. */
export const STOP_MS = 5 * 60_000

/** One lab, from its start to the end of its removal. */
export interface LabSpan {
  readonly needs: LabNeeds
  readonly from_ms: number
  readonly until_ms: number
}

/** The machines that all labs would run on: those of one template. */
export interface MachineModel {
  readonly capacity: Capacity
  readonly usd_per_hour: number
  /** From the start of the machine until its CML serves, on average. The machine is billed meanwhile. */
  readonly boot_ms: number
  /** Added to the first boot of a machine. */
  readonly first_boot_ms: number
  /** Until a stopping machine may start again. EC2 does not bill it. */
  readonly stop_ms: number
}

/** Machines that run at the beginning: they need no boot for their first use, or stay until then if that costs less. */
export interface RunningMachines {
  readonly count: number
  readonly at_ms: number
}
export const NONE_RUN: RunningMachines = { count: 0, at_ms: 0 }

/** Without disks, which cost the same for every schedule. */
export interface MachineTime {
  readonly usd: number
  readonly hours: number
  readonly boots: number
  readonly machines: number
}

/** `ms` has the boots in it, but not what first boots take longer. */
export function machineTime(
  { usd_per_hour, first_boot_ms }: MachineModel,
  { ms, boots, machines }: { ms: number; boots: number; machines: number },
): MachineTime {
  const hours = (ms + machines * first_boot_ms) / HOUR_MS
  return { usd: hours * usd_per_hour, hours, boots, machines }
}

/** Whether a machine of the template holds the lab. */
export const isRunnable = ({ needs, from_ms, until_ms }: LabSpan, { capacity }: MachineModel): boolean =>
  until_ms > from_ms && fitsIn(sharesOf(needs, capacity), WHOLE_MACHINE)

import type { Clock } from '@lcm/runtime/clock'
import { type Cloudwatch, cloudwatchOf } from './cloudwatch/cloudwatch.ts'
import { type CmlMachines, cmlMachinesOf } from './cml/cml-machines.ts'
import { type Ec2, ec2Of } from './ec2/ec2.ts'
import { hasFaded, instanceChangesAtMs, type MachineView, type SimInstance, viewOf } from './ec2/instance.ts'
import { killInPending, rebootInside, retire } from './ec2/machine-interruptions.ts'
import { unknownInstances } from './ec2/refusal.ts'
import type { FaultInjector } from './faults/fault-injector.ts'
import type { PresetName } from './faults/fault-plan.ts'
import { type Admit, admission, faultyEc2 } from './faults/faulty-ec2.ts'
import type { Addressing } from './machine-addresses.ts'
import { seedFleet } from './seed-fleet.ts'
import { openSimState, type SimState } from './sim-state.ts'
import { memorySimStore, type SimStore } from './sim-store.ts'

/**
 * The simulated cloud. Its state follows from stored timestamps and the wall clock, so it advances even while it is
 * closed. The same seed and the same calls at the same times give the same state.
 */
export interface SimModel {
  readonly seed: number
  readonly speed: number
  now(): number
  /** EC2 without request limits: for manual changes and for seeding a fleet. */
  readonly ec2: Ec2
  /** EC2 as callers of its API get it: with request limits and injected errors. */
  readonly ec2Api: Ec2
  readonly cloudwatch: Cloudwatch
  /** The same limits and errors for calls of other services. */
  readonly admit: Admit
  readonly faults: FaultInjector
  readonly incidents: Incidents
  readonly cml: CmlMachines
  /** Every machine that hasn't disappeared, including those that EC2 doesn't show yet. */
  machines(): readonly MachineView[]
  machine(instanceId: string): MachineView | null
  /** Launches this many machines in an empty simulated cloud, dated weeks back. */
  plantFleet(count: number): void
  /** When the machine next changes by itself, or null. */
  changesAtMs(instanceId: string): number | null
  /** Calls the listener with the id of every changed machine. Call the result to stop. */
  watch(listener: (instanceId: string) => void): () => void
  /** Addressing of endpoints on this host. Not stored, since another host may differ. */
  setAddressing(addressing: Addressing): void
  addressing(): Addressing
  close(): void
}

/** Failures of machines without an EC2 call. Each throws an Ec2Refusal if the machine's state rules it out. */
export interface Incidents {
  /** EC2 announces a stop, and stops the machine after this many simulated seconds. */
  retire(instanceId: string, afterS: number): void
  killInPending(instanceId: string): void
  /** A reboot that EC2 doesn't show, for this many simulated seconds; null: for a usual boot. */
  rebootInside(instanceId: string, downS: number | null): void
}

export interface SimModelOptions {
  /** A stored simulated cloud keeps its first seed. */
  readonly seed: number
  readonly clock: Pick<Clock, 'now'>
  /** Divides the cloud's own delays, never the clock. */
  readonly speed?: number
  readonly store?: SimStore
  /** The fault plan until it is changed. */
  readonly preset?: PresetName
  /** Number of licenses in the Smart Account; unlimited by default. Not stored. */
  readonly licensesOwned?: number
  /** Initial admin password of CML servers. Not stored. */
  readonly adminPassword?: string
}

export function openSimModel(options: SimModelOptions): SimModel {
  const { clock, speed = 1, store = memorySimStore(), preset = 'plain' } = options
  if (!(speed > 0 && Number.isFinite(speed))) throw new RangeError(`the speed must be above 0, not ${speed}`)
  const sim = openSimState({ ...options, speed, store, preset, now: () => clock.now() })
  const ec2 = ec2Of(sim)
  const admit = admission(sim)
  const machine = (instanceId: string): MachineView | null => {
    const instance = sim.instances.get(instanceId)
    return instance && !hasFaded(instance, sim.now()) ? viewOf(instance, sim.now(), sim.addressing) : null
  }
  return {
    seed: sim.seed,
    speed,
    now: sim.now,
    ec2,
    ec2Api: faultyEc2(ec2, admit),
    admit,
    cloudwatch: cloudwatchOf(sim),
    faults: sim.faults,
    incidents: {
      retire: (instanceId, afterS) => retire(sim, instanceNamed(sim, instanceId), afterS),
      rebootInside: (instanceId, downS) => rebootInside(sim, instanceNamed(sim, instanceId), downS),
      killInPending: instanceId => killInPending(sim, instanceNamed(sim, instanceId)),
    },
    cml: cmlMachinesOf(sim),
    machines: () => [...sim.instances.keys()].flatMap(id => machine(id) ?? []),
    machine,
    plantFleet: count => seedFleet(sim, count),
    changesAtMs(instanceId) {
      const instance = sim.instances.get(instanceId)
      return instance ? instanceChangesAtMs(instance, sim.now()) : null
    },
    watch: sim.watch,
    addressing: () => sim.addressing,
    setAddressing(addressing) {
      sim.addressing = addressing
    },
    close: () => store.close(),
  }
}

function instanceNamed(sim: SimState, instanceId: string): SimInstance {
  const instance = sim.instances.get(instanceId)
  if (instance) return instance
  throw unknownInstances([instanceId])
}

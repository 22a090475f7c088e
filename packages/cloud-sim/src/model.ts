import type { Clock } from '@lcm/runtime/clock'
import type { Addressing } from './addresses.ts'
import { type Cloudwatch, cloudwatchOf } from './cloudwatch/cloudwatch.ts'
import { type CmlMachines, cmlMachinesOf } from './cml/cml-machines.ts'
import { type Ec2, ec2Of } from './ec2/ec2.ts'
import { hasFaded, instanceChangesAtMs, type MachineView, type SimInstance, viewOf } from './ec2/instance.ts'
import { killInPending, retire } from './ec2/machine-failures.ts'
import { unknownInstances } from './ec2/refusal.ts'
import type { FaultInjector } from './faults/fault-injector.ts'
import type { PresetName } from './faults/fault-plan.ts'
import { type Admit, admission, rateLimitedEc2 } from './faults/rate-limited-ec2.ts'
import { seedFleet } from './seed-fleet.ts'
import { openSimState, type SimState } from './sim-state.ts'
import { memorySimStore, type SimStore } from './store.ts'

/**
 * The simulated cloud. What anything is now follows from stored instants and the wall clock, so a world that is closed
 * and opened later has moved on. The same seed and the same calls at the same times give the same world.
 */
export interface SimModel {
  readonly seed: number
  readonly speed: number
  now(): number
  /** EC2 itself: for hands behind everybody's back and for planting, without limits. */
  readonly ec2: Ec2
  /** EC2 as callers of its API meet it: with request limits, and with errors of its own making. */
  readonly ec2Api: Ec2
  readonly cloudwatch: Cloudwatch
  /** The same limits and errors for calls of other services. */
  readonly admit: Admit
  readonly faults: FaultInjector
  readonly incidents: Incidents
  readonly cml: CmlMachines
  /** Every machine that has not faded, also those that EC2 does not show yet. */
  machines(): readonly MachineView[]
  machine(instanceId: string): MachineView | null
  /** Gives a world that never had a machine this many, as if they had been there for weeks. */
  plantFleet(count: number): void
  /** When that machine will next change by itself, or null. */
  changesAtMs(instanceId: string): number | null
  /** Calls back with the id of every machine that somebody has changed. The answer ends it. */
  watch(listener: (instanceId: string) => void): () => void
  /** Addressing of endpoints on this host. It is not stored, since another host may differ. */
  setAddressing(addressing: Addressing): void
  addressing(): Addressing
  close(): void
}

/** Failures of machines without an EC2 call. Each throws an Ec2Refusal where it can't happen. */
export interface Incidents {
  /** EC2 announces a stop, and does it after so many seconds of its time. */
  retire(instanceId: string, afterS: number): void
  killInPending(instanceId: string): void
}

export interface SimModelOptions {
  /** A stored world keeps the seed that it was made with. */
  readonly seed: number
  readonly clock: Pick<Clock, 'now'>
  /** Divides the cloud's own delays, never our clock. */
  readonly speed?: number
  readonly store?: SimStore
  /** The fault plan of a world that nobody has told another. */
  readonly preset?: PresetName
  /** Number of licenses that the Smart Account owns; unlimited by default. It is not stored. */
  readonly licensesOwned?: number
  /** Of CML servers that nobody has given another. It is not stored. */
  readonly adminPassword?: string
}

export function openSimModel(options: SimModelOptions): SimModel {
  const { clock, speed = 1, store = memorySimStore(), preset = 'plain' } = options
  if (!(speed > 0 && Number.isFinite(speed))) throw new RangeError(`the speed must be above 0, not ${speed}`)
  const world = openSimState({ ...options, speed, store, preset, now: () => clock.now() })
  const ec2 = ec2Of(world)
  const admit = admission(world)
  const machine = (instanceId: string): MachineView | null => {
    const instance = world.instances.get(instanceId)
    return instance && !hasFaded(instance, world.now()) ? viewOf(instance, world.now(), world.addressing) : null
  }
  return {
    seed: world.seed,
    speed,
    now: world.now,
    ec2,
    ec2Api: rateLimitedEc2(ec2, admit),
    admit,
    cloudwatch: cloudwatchOf(world),
    faults: world.faults,
    incidents: {
      retire: (instanceId, afterS) => retire(world, instanceNamed(world, instanceId), afterS),
      killInPending: instanceId => killInPending(world, instanceNamed(world, instanceId)),
    },
    cml: cmlMachinesOf(world),
    machines: () => [...world.instances.keys()].flatMap(id => machine(id) ?? []),
    machine,
    plantFleet: count => seedFleet(world, count),
    changesAtMs(instanceId) {
      const instance = world.instances.get(instanceId)
      return instance ? instanceChangesAtMs(instance, world.now()) : null
    },
    watch: world.watch,
    addressing: () => world.addressing,
    setAddressing(addressing) {
      world.addressing = addressing
    },
    close: () => store.close(),
  }
}

function instanceNamed(world: SimState, instanceId: string): SimInstance {
  const instance = world.instances.get(instanceId)
  if (instance) return instance
  throw unknownInstances([instanceId])
}

import type { Clock } from '@lcm/runtime/clock'
import type { Addressing } from './addresses.ts'
import { type CmlMachines, cmlMachinesOf } from './cml/cml-machines.ts'
import { type Ec2, ec2Of } from './ec2/ec2.ts'
import { hasFaded, instanceChangesAtMs, type MachineView, viewOf } from './ec2/instance.ts'
import { memorySimStore, type SimStore } from './store.ts'
import { openWorld } from './world.ts'

/**
 * The simulated cloud. What anything is now follows from stored instants and the wall clock, so a world that is closed
 * and opened later has moved on. The same seed and the same calls at the same times give the same world.
 */
export interface SimModel {
  readonly seed: number
  readonly speed: number
  now(): number
  readonly ec2: Ec2
  readonly cml: CmlMachines
  /** Every machine that has not faded, also those that EC2 does not show yet. */
  machines(): readonly MachineView[]
  machine(instanceId: string): MachineView | null
  /** When that machine will next change by itself, or null. */
  changesAtMs(instanceId: string): number | null
  /** Calls back with the id of every machine that somebody has changed. The answer ends it. */
  watch(listener: (instanceId: string) => void): () => void
  /** How endpoints are spelt on this host. It is not stored, since another host may differ. */
  setAddressing(addressing: Addressing): void
  close(): void
}

export interface SimModelOptions {
  /** A stored world keeps the seed that it was made with. */
  readonly seed: number
  readonly clock: Pick<Clock, 'now'>
  /** Divides the cloud's own delays, never our clock. */
  readonly speed?: number
  readonly store?: SimStore
}

export function openSimModel({ seed, clock, speed = 1, store = memorySimStore() }: SimModelOptions): SimModel {
  if (!(speed > 0 && Number.isFinite(speed))) throw new RangeError(`the speed must be above 0, not ${speed}`)
  const world = openWorld({ seed, speed, store, now: () => clock.now() })
  const machine = (instanceId: string): MachineView | null => {
    const instance = world.instances.get(instanceId)
    return instance && !hasFaded(instance, world.now()) ? viewOf(instance, world.now(), world.addressing) : null
  }
  return {
    seed: world.seed,
    speed,
    now: world.now,
    ec2: ec2Of(world),
    cml: cmlMachinesOf(world),
    machines: () => [...world.instances.keys()].flatMap(id => machine(id) ?? []),
    machine,
    changesAtMs(instanceId) {
      const instance = world.instances.get(instanceId)
      return instance ? instanceChangesAtMs(instance, world.now()) : null
    },
    watch: world.watch,
    setAddressing(addressing) {
      world.addressing = addressing
    },
    close: () => store.close(),
  }
}

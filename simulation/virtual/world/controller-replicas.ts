import type { ControllerProcess } from './controller-process.ts'
import type { Incarnation, PortCalls } from './port-calls.ts'
import type { World } from './world.ts'

export const REPLICATED_SERVICES = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const
export type ReplicatedService = (typeof REPLICATED_SERVICES)[number]

/** Two processes of every controller, each on its own machine. A killed process is replaced there after a delay. */
export interface ControllerReplicas {
  of(service: ReplicatedService): readonly ControllerProcess[]
  ownerOf(service: ReplicatedService, incarnation: Incarnation): ControllerProcess | undefined
  callsOf(service: ReplicatedService): PortCalls
  kill(service: ReplicatedService, victim: ControllerProcess | undefined, replacedAfterMs: number): void
  freeze(victim: ControllerProcess, forMs: number): void
  /** Sets the clock of one machine, also for processes started there later. Returns a function that sets it back. */
  jumpClock(service: ReplicatedService, share: number, ms: number): () => void
  /** Restarts missing processes and thaws frozen ones now. */
  restore(): void
  readonly kills: number
}

interface Machine {
  readonly service: ReplicatedService
  process: ControllerProcess | null
  aheadMs: number
}

const PER_SERVICE = 2

export function controllerReplicas(world: World): ControllerReplicas {
  const machines: readonly Machine[] = REPLICATED_SERVICES.flatMap(service =>
    Array.from({ length: PER_SERVICE }, () => ({ service, process: null, aheadMs: 0 })),
  )
  const frozen = new Set<ControllerProcess>()
  let started = 0
  let kills = 0
  function fill(machine: Machine): void {
    if (machine.process !== null) return
    started += 1
    const { service, aheadMs } = machine
    const id = `${service}-${started}`
    machine.process =
      service === 'worker-controller'
        ? world.startWorkerController(id, aheadMs)
        : world.sessions.start(service, id, aheadMs)
  }
  const wake = (process: ControllerProcess) => {
    if (frozen.delete(process)) process.thaw()
  }
  const of = (service: ReplicatedService) =>
    machines.flatMap(machine => (machine.service === service && machine.process !== null ? [machine.process] : []))
  machines.forEach(fill)
  return {
    of,
    ownerOf: (service, incarnation) => of(service).find(process => process.isIncarnation(incarnation)),
    callsOf: service => (service === 'worker-controller' ? world.calls : world.sessions.calls[service]),
    kill(service, victim, replacedAfterMs) {
      const machine = machines.find(each => each.service === service && each.process === victim)
      if (victim === undefined || machine === undefined) return
      kills += 1
      world.disturbances.note('fault', replacedAfterMs)
      victim.kill()
      machine.process = null
      world.time.clock.after(replacedAfterMs, () => fill(machine))
    },
    freeze(victim, forMs) {
      if (frozen.has(victim)) return
      frozen.add(victim)
      world.disturbances.note('fault', forMs)
      victim.freeze()
      world.time.clock.after(forMs, () => wake(victim))
    },
    jumpClock(service, share, ms) {
      const all = machines.filter(each => each.service === service)
      const machine = all[Math.floor(share * all.length)]
      const jump = (byMs: number) => {
        if (machine === undefined) return
        machine.aheadMs += byMs
        machine.process?.jumpClock(byMs)
      }
      jump(ms)
      return () => jump(-ms)
    },
    restore() {
      machines.forEach(fill)
      for (const process of [...frozen]) wake(process)
    },
    get kills() {
      return kills
    },
  }
}

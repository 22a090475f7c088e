import type { ControllerProcess } from '../controller-process.ts'
import type { PortCalls } from '../port-calls.ts'
import type { World } from '../world.ts'

export const CREW_SERVICES = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const
export type CrewService = (typeof CREW_SERVICES)[number]

/** Two processes of every controller, and whoever dies is replaced after a while. */
export interface Crew {
  of(service: CrewService): readonly ControllerProcess[]
  callsOf(service: CrewService): PortCalls
  kill(service: CrewService, victim: ControllerProcess | undefined, replacedAfterMs: number): void
  freeze(victim: ControllerProcess, forMs: number): void
  /** Everybody is there and awake again, now. */
  restore(): void
  readonly kills: number
}

const PER_SERVICE = 2

export function crew(world: World): Crew {
  const all = new Map<CrewService, ControllerProcess[]>(CREW_SERVICES.map(service => [service, []]))
  const asleep = new Set<ControllerProcess>()
  let started = 0
  let kills = 0
  function fill(service: CrewService): void {
    const crew = all.get(service) ?? []
    while (crew.length < PER_SERVICE) {
      started += 1
      const id = `${service}-${started}`
      crew.push(service === 'worker-controller' ? world.startController(id) : world.sessions.start(service, id))
    }
  }
  const wake = (sleeper: ControllerProcess) => {
    if (asleep.delete(sleeper)) sleeper.thaw()
  }
  for (const service of CREW_SERVICES) fill(service)
  return {
    of: service => all.get(service) ?? [],
    callsOf: service => (service === 'worker-controller' ? world.calls : world.sessions.calls[service]),
    kill(service, victim, replacedAfterMs) {
      const crew = all.get(service) ?? []
      if (victim === undefined || !crew.includes(victim)) return
      kills += 1
      victim.kill()
      crew.splice(crew.indexOf(victim), 1)
      world.time.clock.after(replacedAfterMs, () => fill(service))
    },
    freeze(victim, forMs) {
      if (asleep.has(victim)) return
      asleep.add(victim)
      victim.freeze()
      world.time.clock.after(forMs, () => wake(victim))
    },
    restore() {
      for (const service of CREW_SERVICES) fill(service)
      for (const sleeper of [...asleep]) wake(sleeper)
    },
    get kills() {
      return kills
    },
  }
}

import type { HostedService } from '@lcm/runtime'

/** State that a leader learned in its current term. No term sees the memory of another one. */
export interface TermMemory<Memory> {
  /** A standby has an empty one. */
  current(): Memory
  /** The same service, with a new memory for every run. Each run is one leadership term. */
  during(service: HostedService): HostedService
}

/** `onEnd` clears what outlives a term for technical reasons, such as gauges. */
export function termMemory<Memory>(create: () => Memory, onEnd: () => void = () => undefined): TermMemory<Memory> {
  let memory = create()
  return {
    current: () => memory,
    during: service => ({
      name: service.name,
      async run(signal, leadership) {
        memory = create()
        try {
          await service.run(signal, leadership)
        } finally {
          memory = create()
          onEnd()
        }
      },
    }),
  }
}

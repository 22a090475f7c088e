import type { HostedService } from '@lcm/runtime'

export interface HostedProcesses {
  /** Returns a function that abandons the service: nothing waits for a killed process, whose calls never return. */
  run(service: HostedService): () => void
  stop(letTimePass: () => Promise<void>): Promise<void>
}

/** Services that run concurrently and end together. */
export function hostedProcesses(): HostedProcesses {
  const running = new Set<{ stop: AbortController; ended: Promise<void> }>()
  let isOver = false
  return {
    run(service) {
      const stop = new AbortController()
      if (isOver) stop.abort()
      const process = { stop, ended: service.run(stop.signal) }
      running.add(process)
      return () => {
        running.delete(process)
        stop.abort()
      }
    },
    async stop(letTimePass) {
      isOver = true
      for (const { stop } of running) stop.abort()
      await letTimePass()
      await Promise.all([...running].map(({ ended }) => ended))
    },
  }
}

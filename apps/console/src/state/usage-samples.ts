import type { WorkerSample as Sample } from '@lcm/contract/worker'
import { signal } from '@preact/signals'

export type { Sample }

/** Samples per worker: one hour at one per minute. */
const KEPT = 60

/** Whole percents, oldest first; null where nothing was measured. */
export interface Usage {
  readonly cpu: readonly (number | null)[]
  readonly memory: readonly (number | null)[]
}

/**
 * Recent CPU and memory use of each worker. Only the values of the sparkline are kept: full samples of ten thousand workers
 * would fill the tab's memory.
 */
export interface UsageSamples {
  of(workerId: string): Usage
  add(batch: readonly { readonly worker_id: string; readonly sample: Sample }[]): void
  forget(workerId: string): void
}

interface Held {
  cpu: (number | null)[]
  memory: (number | null)[]
  newestAt: string
}

const NOTHING: Usage = { cpu: [], memory: [] }

export function usageSamples(): UsageSamples {
  const held = new Map<string, Held>()
  const changes = signal(0)
  return {
    of(workerId) {
      changes.value
      return held.get(workerId) ?? NOTHING
    },
    add(batch) {
      for (const { worker_id: id, sample } of batch) {
        const kept = held.get(id) ?? { cpu: [], memory: [], newestAt: '' }
        held.set(id, kept)
        addNewest(kept, sample)
      }
      if (batch.length > 0) changes.value++
    },
    forget(workerId) {
      if (held.delete(workerId)) changes.value++
    },
  }
}

/** Drops duplicates and late samples. */
function addNewest(held: Held, { collected_at, cpu_utilization, memory_utilization }: Sample): void {
  if (held.newestAt >= collected_at) return
  held.newestAt = collected_at
  held.cpu.push(whole(cpu_utilization))
  held.memory.push(whole(memory_utilization))
  if (held.cpu.length > KEPT) held.cpu.shift()
  if (held.memory.length > KEPT) held.memory.shift()
}

const whole = (share: number | null): number | null => (share === null ? null : Math.round(share))

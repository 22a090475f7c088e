import { type Signal, signal } from '@preact/signals'

/** Signals that data changed and should be reloaded: decisions about `worker:w-1`, `settings`. */
export interface LiveUpdates {
  /** Number of updates of a topic. Reading it in a component or effect subscribes to this topic only. */
  count(topic: string): number
  publish(topic: string): void
}

export function liveUpdates(): LiveUpdates {
  const counters = new Map<string, Signal<number>>()
  return {
    count(topic) {
      const counter = counters.get(topic) ?? signal(0)
      counters.set(topic, counter)
      return counter.value
    },
    publish(topic) {
      const counter = counters.get(topic)
      if (counter) counter.value++
    },
  }
}

import { type Signal, signal } from '@preact/signals'

/** That something happened, for those who then read again: `worker:w-1` was decided about, `settings` changed. */
export interface LiveUpdates {
  /** Grows each time. Reading it in a component or effect subscribes to that subject alone. */
  count(subject: string): number
  publish(subject: string): void
}

export function liveUpdates(): LiveUpdates {
  const heard = new Map<string, Signal<number>>()
  return {
    count(subject) {
      const known = heard.get(subject) ?? signal(0)
      heard.set(subject, known)
      return known.value
    },
    publish(subject) {
      const known = heard.get(subject)
      if (known) known.value++
    },
  }
}

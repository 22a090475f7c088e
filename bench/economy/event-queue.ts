import { indexedHeap, NOT_IN_HEAP, type Slotted } from '@lcm/runtime/indexed-heap'
import type { SeededRandom } from '@lcm/testkit/seeded-random'

export interface EventQueue {
  /** `isNews` is false for what no policy decides by. */
  readonly at: (ms: number, run: () => void, options?: { isNews: boolean }) => void
  /** When the next event is due; infinity without one. */
  readonly nextMs: () => number
  /**
   * Runs all events that are due, in the order in which they were added, and those that they add for the same moment. Returns how
   * many of them were news.
   */
  readonly runUntil: (ms: number) => number
}

/** What everything that is played on virtual time needs. */
export interface Playing {
  readonly queue: EventQueue
  readonly now: () => number
  readonly random: SeededRandom
}

interface Event extends Slotted {
  readonly ms: number
  readonly number: number
  readonly run: () => void
  readonly isNews: boolean
}

/** Virtual time: what happens next. */
export function eventQueue(): EventQueue {
  const events = indexedHeap<Event>((a, b) => a.ms < b.ms || (a.ms === b.ms && a.number < b.number))
  let added = 0
  return {
    at: (ms, run, { isNews } = { isNews: true }) => {
      added += 1
      events.push({ slot: NOT_IN_HEAP, ms, number: added, run, isNews })
    },
    nextMs: () => events.peek()?.ms ?? Number.POSITIVE_INFINITY,
    runUntil: ms => {
      let news = 0
      for (let event = events.peek(); event !== undefined && event.ms <= ms; event = events.peek()) {
        events.remove(event)
        event.run()
        if (event.isNews) news += 1
      }
      return news
    },
  }
}

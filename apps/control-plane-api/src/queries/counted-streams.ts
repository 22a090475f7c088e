import type { EventStreams } from './events.ts'

/** The same streams, and how many of them are open. */
export function countedStreams(streams: EventStreams): EventStreams & { openNow(): number } {
  let count = 0
  return {
    openNow: () => count,
    async *open(follow) {
      count += 1
      try {
        yield* streams.open(follow)
      } finally {
        count -= 1
      }
    },
  }
}

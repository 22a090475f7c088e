import { ProblemError } from '@lcm/contract/problems'
import type { EventStreams } from './events.ts'

const STREAMS_MAX = 500
/** Whoever has more would keep others from following. */
const STREAMS_PER_ACTOR_MAX = STREAMS_MAX / 2

/** The same streams, and how many of them are open. Throws `too_many_clients` to whoever has enough. */
export function limitStreams(streams: EventStreams): EventStreams & { openNow(): number } {
  const counts = new Map<string, number>()
  const add = (actorId: string, change: 1 | -1) => {
    const count = (counts.get(actorId) ?? 0) + change
    if (count === 0) counts.delete(actorId)
    else counts.set(actorId, count)
  }
  const openNow = () => [...counts.values()].reduce((sum, count) => sum + count, 0)
  return {
    openNow,
    open(follow) {
      const { actor, signal } = follow
      if ((counts.get(actor.id) ?? 0) >= STREAMS_PER_ACTOR_MAX)
        throw new ProblemError('too_many_clients', `you have ${STREAMS_PER_ACTOR_MAX} event streams; close one first`)
      if (openNow() >= STREAMS_MAX) throw new ProblemError('too_many_clients', 'close an event stream first')
      // A stream that nobody begins to read has no end of its own, but its signal aborts.
      if (!signal.aborted) {
        add(actor.id, 1)
        signal.addEventListener('abort', () => add(actor.id, -1), { once: true })
      }
      return streams.open(follow)
    },
  }
}

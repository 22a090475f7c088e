import { ProblemError } from '@lcm/contract/problems'
import type { EventStreams } from './events.ts'

const STREAMS_MAX = 500
/** More streams of one actor would keep others from following. */
const STREAMS_PER_ACTOR_MAX = STREAMS_MAX / 2

/** Counts open streams and throws `too_many_clients` above the limits. */
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
      // A stream that is never read doesn't end by itself, but its signal aborts.
      if (!signal.aborted) {
        add(actor.id, 1)
        signal.addEventListener('abort', () => add(actor.id, -1), { once: true })
      }
      return streams.open(follow)
    },
  }
}

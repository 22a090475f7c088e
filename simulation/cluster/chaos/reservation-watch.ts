import type { Client } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { overbooked, sharedPorts } from '@lcm/testkit/book-rules'
import { illegalMovesOfWorker } from '@lcm/testkit/move-rules'

const LOOK_EVERY_MS = 500

/** Looks again and again at what workers have given away, while it is given and taken back. */
export interface ReservationWatch {
  /** Stops, and answers what was ever wrong. */
  stop(): Promise<{ readonly books: readonly string[]; readonly moves: readonly string[]; readonly looks: number }>
}

export function watchReservations(client: Client): ReservationWatch {
  const stopping = new AbortController()
  const [books, moves] = [new Set<string>(), new Set<string>()]
  let looks = 0
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      const query = { limit: 1000, include_terminated: true }
      // The API may be away for longer than anybody asks.
      const { items } = await client.call('listWorkers', { query }).catch(() => ({ items: [] }))
      if (items.some(({ reservations }) => Object.keys(reservations).length > 0)) looks += 1
      for (const rule of items.flatMap(worker => [...overbooked(worker), ...sharedPorts(worker)])) books.add(rule)
      for (const rule of items.flatMap(illegalMovesOfWorker)) moves.add(rule)
      await systemClock.sleep(LOOK_EVERY_MS, stopping.signal)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await ended
      return { books: [...books], moves: [...moves], looks }
    },
  }
}

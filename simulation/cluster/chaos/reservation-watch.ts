import type { Client } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { overbooked, sharedPorts } from '@lcm/testkit/reservation-rules'
import { illegalMovesOfWorker } from '@lcm/testkit/transition-rules'

const POLL_MS = 500

/** Polls the reservations of all workers while sessions come and go. */
export interface ReservationWatch {
  /** Stops, and returns all violations that were observed. */
  stop(): Promise<{
    readonly books: readonly string[]
    readonly moves: readonly string[]
    readonly observations: number
  }>
}

export function watchReservations(client: Client): ReservationWatch {
  const stopping = new AbortController()
  const [books, moves] = [new Set<string>(), new Set<string>()]
  let observations = 0
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      const query = { limit: 1000, include_terminated: true }
      // The API may be down for longer than the client retries.
      const { items } = await client.call('listWorkers', { query }).catch(() => ({ items: [] }))
      if (items.some(({ reservations }) => Object.keys(reservations).length > 0)) observations += 1
      for (const rule of items.flatMap(worker => [...overbooked(worker), ...sharedPorts(worker)])) books.add(rule)
      for (const rule of items.flatMap(illegalMovesOfWorker)) moves.add(rule)
      await systemClock.sleep(POLL_MS, stopping.signal)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await ended
      return { books: [...books], moves: [...moves], observations }
    },
  }
}

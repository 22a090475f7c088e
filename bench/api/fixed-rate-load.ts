import { systemClock } from '@lcm/runtime/clock'
import { type Connection, openConnection } from './http-connections.ts'

/** Enough connections that a request waits for one only when the server is far behind; that wait counts. */
const CONNECTIONS = 64

export interface Arrival {
  readonly kind: string
  readonly request: Buffer
}

/**
 * Sends requests at a fixed rate, independent of the responses. Times start when a request is due, so a stall of the server
 * counts for every request that arrives meanwhile.
 */
export async function atFixedRate(
  port: number,
  load: { perSecond: number; seconds: number; next: (n: number) => Arrival },
): Promise<Map<string, number[]>> {
  const free: Connection[] = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(port)))
  const all = [...free]
  const due: { atMs: number; arrival: Arrival }[] = []
  const took = new Map<string, number[]>()
  const total = load.perSecond * load.seconds
  let answered = 0

  async function carry(connection: Connection, { atMs, arrival }: { atMs: number; arrival: Arrival }): Promise<void> {
    const { status } = await connection.send(arrival.request)
    if (status >= 300) throw new Error(`${arrival.kind} was answered with ${status}`)
    const times = took.get(arrival.kind) ?? []
    took.set(arrival.kind, times)
    times.push(systemClock.monotonic() - atMs)
    answered += 1
    free.push(connection)
    dispatch()
  }

  let failure: unknown = null
  function dispatch(): void {
    while (due.length > 0) {
      const connection = free.pop()
      if (connection === undefined) return
      const next = due.shift()
      if (next === undefined) return void free.push(connection)
      carry(connection, next).catch(error => {
        failure = error
      })
    }
  }

  const startMs = systemClock.monotonic() + 5
  let sent = 0
  while (answered < total && failure === null) {
    const now = systemClock.monotonic()
    for (; sent < total && startMs + (sent * 1000) / load.perSecond <= now; sent += 1) {
      due.push({ atMs: startMs + (sent * 1000) / load.perSecond, arrival: load.next(sent) })
    }
    dispatch()
    await systemClock.sleep(1)
  }
  for (const connection of all) connection.close()
  if (failure !== null) throw failure
  return took
}

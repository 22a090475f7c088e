import { systemClock } from '@lcm/runtime/clock'
import { openConnection } from './http-connections.ts'

/** Each client sends its next request after the previous response. Returns requests per second. */
export async function closedLoop(
  port: number,
  load: { clients: number; seconds: number; next: (client: number, n: number) => Buffer },
): Promise<number> {
  const endMs = systemClock.monotonic() + load.seconds * 1000

  async function client(which: number): Promise<number> {
    const connection = await openConnection(port)
    let answered = 0
    while (systemClock.monotonic() < endMs) {
      const { status } = await connection.send(load.next(which, answered))
      if (status !== 200) throw new Error(`a request was answered with ${status}`)
      answered += 1
    }
    connection.close()
    return answered
  }

  const counts = await Promise.all(Array.from({ length: load.clients }, (_, which) => client(which)))
  return counts.reduce((sum, count) => sum + count, 0) / load.seconds
}

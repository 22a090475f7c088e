import { connect, type Socket } from 'node:net'
import { systemClock } from '@lcm/runtime/clock'
import { requestText } from './http-connections.ts'

const CHANGE = /"type":"worker\.updated","id":"([^"]+)","version":(\d+)/g
/** Longer than a match of CHANGE, which may arrive in two chunks. */
const TAIL_CHARACTERS = 200

export interface EventClients {
  /** Times at which each client received a version, by `<id> <version>`. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>
  close(): void
}

/** Event streams on separate connections. Resolves when all are open. */
export async function openEventClients(port: number, count: number): Promise<EventClients> {
  const arrivals = new Map<string, number[]>()

  function heard(text: string): string {
    const now = systemClock.monotonic()
    let end = 0
    for (const match of text.matchAll(CHANGE)) {
      const name = `${match[1]} ${match[2]}`
      const times = arrivals.get(name) ?? []
      arrivals.set(name, times)
      times.push(now)
      end = match.index + match[0].length
    }
    return text.slice(Math.max(end, text.length - TAIL_CHARACTERS))
  }

  async function open(): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.write(requestText('GET', 'events'))
    let tail = ''
    // The stream starts with a heartbeat; no later change is missed.
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.on('data', chunk => {
        tail = heard(tail + chunk.toString('latin1'))
        if (tail.includes('heartbeat')) resolve()
      })
    })
    return socket
  }

  const sockets = await Promise.all(Array.from({ length: count }, open))
  return {
    arrivals,
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

import { createServer, type Server, type Socket } from 'node:net'
import { joinAddress } from '../client/endpoint.ts'

/** A socket that is open as long as the process lives and sends the instance id. */
export interface LivenessServer {
  readonly address: string
  close(): Promise<void>
}

/** Standbys keep one connection each. Further ones are closed at once, which no standby takes for an exit. */
const CONNECTIONS_MAX = 64

/** Listens on a free port. Rejects when the address doesn't belong to this machine. */
export async function openLivenessServer(host: string, instanceId: string): Promise<LivenessServer> {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    // Neither the sockets nor the server keep an otherwise idle process alive.
    socket.unref()
    socket.resume()
    socket.write(greetingOf(instanceId))
  })
  server.maxConnections = CONNECTIONS_MAX
  const port = await listen(server, host)
  server.unref()
  return {
    address: joinAddress({ host, port }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

export const greetingOf = (instanceId: string): string => `${JSON.stringify(instanceId)}\n`

export function listen(server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // Never removed: a failed accept must not end the process later.
    server.on('error', reject)
    server.listen({ host, port: 0 }, () => {
      const address = server.address()
      if (typeof address === 'object' && address !== null) resolve(address.port)
      else reject(new Error('the liveness socket has no port'))
    })
  })
}

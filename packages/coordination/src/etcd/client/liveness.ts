import { createServer, type Server, type Socket } from 'node:net'
import { joinAddress } from './endpoint.ts'

/** A socket that lives as long as the process does and says whose it is. */
export interface Liveness {
  readonly address: string
  close(): Promise<void>
}

/** Standbys keep one connection each. One more is closed at once, which nobody takes for death. */
const CONNECTIONS_MAX = 64

/** Listens on a free port. Rejects when the address is not one of this machine. */
export async function openLiveness(host: string, instanceId: string): Promise<Liveness> {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    // Neither the socket nor the server keeps a process alive that has nothing else to do.
    socket.unref()
    socket.resume()
    socket.write(greetingOf(instanceId))
  })
  server.maxConnections = CONNECTIONS_MAX
  const port = await listening(server, host)
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

export function listening(server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // For good: a connection that can't be accepted later on must not end the process.
    server.on('error', reject)
    server.listen({ host, port: 0 }, () => {
      const address = server.address()
      if (typeof address === 'object' && address !== null) resolve(address.port)
      else reject(new Error('the liveness socket has no port'))
    })
  })
}

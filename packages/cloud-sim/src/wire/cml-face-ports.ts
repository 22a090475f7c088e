import { createServer, type Server, type Socket } from 'node:net'
import type { NodePort } from '../cml/patty.ts'
import type { SimModel } from '../model.ts'

/** The ports of all machines that lead to their nodes. */
export interface NodePortsFace {
  /** Opens and closes what the machine's nodes ask for now; nothing while it has no endpoint. */
  follow(instanceId: string, endpoint: string | null): void
  close(): Promise<void>
}

export function nodePortsFace(model: SimModel): NodePortsFace {
  const machines = new Map<string, NodePorts>()
  return {
    follow(instanceId, endpoint) {
      const wanted = endpoint === null ? [] : model.cml.nodePorts(instanceId)
      const open = machines.get(instanceId) ?? nodePorts()
      open.follow(endpoint === null ? '' : new URL(endpoint).hostname, wanted)
      if (wanted.length === 0) machines.delete(instanceId)
      else machines.set(instanceId, open)
    },
    async close() {
      await Promise.all([...machines.values()].map(open => open.close()))
    },
  }
}

interface NodePorts {
  /** Opens and closes until exactly these are open. */
  follow(host: string, wanted: readonly NodePort[]): void
  close(): Promise<void>
}

const CONNECTIONS_MAX = 16

interface OpenPort {
  readonly host: string
  readonly greeting: string
  close(): Promise<void>
}

/** A port that can't be opened stays closed without a word, as CML's port mapper does it. */
function nodePorts(): NodePorts {
  const open = new Map<number, OpenPort>()
  const close = (port: number): Promise<void> | undefined => {
    const one = open.get(port)
    open.delete(port)
    return one?.close()
  }
  return {
    follow(host, wanted) {
      const byPort = new Map(wanted.map(each => [each.port, each.greeting]))
      for (const [port, one] of open) if (byPort.get(port) !== one.greeting || one.host !== host) close(port)
      for (const { port, greeting } of wanted) if (!open.has(port)) open.set(port, openPort(host, port, greeting))
    },
    async close() {
      await Promise.all([...open.keys()].map(close))
    },
  }
}

/** Greets and then listens politely. */
function openPort(host: string, port: number, greeting: string): OpenPort {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.resume()
    socket.write(greeting)
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('error', () => undefined)
  server.listen({ host, port })
  return { host, greeting, close: () => closed(server, sockets) }
}

function closed(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}

import { createServer, type Server, type Socket } from 'node:net'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import type { NodePort } from '../cml/node-ports.ts'
import type { SimModel } from '../model.ts'

/** The ports of all machines that lead to their nodes. */
export interface NodePortListeners {
  /** Opens and closes what the machine's nodes ask for now; nothing while it has no endpoint. */
  follow(instanceId: string, endpoint: string | null): void
  close(): Promise<void>
}

/** Clients live by the wall clock, whatever clock the cloud uses. */
export function nodePortListeners(model: SimModel, clock: Pick<Clock, 'after'> = systemClock): NodePortListeners {
  const open = (host: string, { port, greeting }: NodePort) => openPort({ host, port, greeting }, clock)
  const machines = new Map<string, NodePorts>()
  return {
    follow(instanceId, endpoint) {
      const wanted = endpoint === null ? [] : model.cml.nodePorts(instanceId)
      const ports = machines.get(instanceId) ?? nodePorts(open)
      ports.follow(endpoint === null ? '' : new URL(endpoint).hostname, wanted)
      if (wanted.length === 0) machines.delete(instanceId)
      else machines.set(instanceId, ports)
    },
    async close() {
      await Promise.all([...machines.values()].map(ports => ports.close()))
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
function nodePorts(openAt: (host: string, wanted: NodePort) => OpenPort): NodePorts {
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
      for (const each of wanted) if (!open.has(each.port)) open.set(each.port, openAt(host, each))
    },
    async close() {
      await Promise.all([...open.keys()].map(close))
    },
  }
}

const HTTP_REQUEST = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S/
/** Browsers speak first; whoever is silent for so long waits to be greeted, as at a console. */
const GREET_AFTER_MS = 200

/** A browser at a web server of a node is told where it is. */
const httpAnswer = (greeting: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n` +
  `content-length: ${Buffer.byteLength(greeting)}\r\nconnection: close\r\n\r\n${greeting}`

/** Answers who asks in HTTP in HTTP, and greets everybody else. */
function serve(socket: Socket, greeting: string, clock: Pick<Clock, 'after'>): void {
  const greet = () => {
    socket.removeAllListeners('data')
    socket.resume()
    socket.write(greeting)
  }
  const cancel = clock.after(GREET_AFTER_MS, greet)
  socket.on('close', cancel)
  socket.once('data', bytes => {
    cancel()
    if (HTTP_REQUEST.test(bytes.toString('latin1'))) socket.end(httpAnswer(greeting))
    else greet()
  })
}

/** Greets and then listens politely. */
function openPort(at: { host: string; port: number; greeting: string }, clock: Pick<Clock, 'after'>): OpenPort {
  const { host, port, greeting } = at
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    serve(socket, greeting, clock)
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

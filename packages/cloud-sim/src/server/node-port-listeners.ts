import { createServer, type Server, type Socket } from 'node:net'
import { type Clock, systemClock } from '@lcm/runtime/clock'
import type { NodePort } from '../cml/node-ports.ts'
import type { SimModel } from '../sim-model.ts'

/** Ports of all machines that lead to their nodes. */
export interface NodePortListeners {
  /** Opens and closes ports to match the machine's nodes; closes all while it has no endpoint. */
  follow(instanceId: string, endpoint: string | null): void
  close(): Promise<void>
}

/** Clients use the wall clock, whatever clock the simulated cloud uses. */
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
  /** Opens and closes ports until exactly these are open. */
  follow(host: string, wanted: readonly NodePort[]): void
  close(): Promise<void>
}

const CONNECTIONS_MAX = 16

interface OpenPort {
  readonly host: string
  readonly greeting: string
  close(): Promise<void>
}

/** A port that can't be opened stays closed silently, as with CML's port mapper. */
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
/** Browsers send first; a client that is silent for this long is a console that expects a greeting. */
const GREET_AFTER_MS = 200

/** Page that a node's web server shows to a browser. */
const httpAnswer = (greeting: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n` +
  `content-length: ${Buffer.byteLength(greeting)}\r\nconnection: close\r\n\r\n${greeting}`

/** Responds to HTTP clients in HTTP, and greets all others. */
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

/** Sends the greeting and discards the input. */
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

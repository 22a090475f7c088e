import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import type { Clock } from '@lcm/runtime/clock'
import type { MachineView } from '../ec2/instance.ts'
import type { SimModel } from '../model.ts'

export interface SimLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface CmlFace {
  /** Whether the machine's port is open. */
  isServed(instanceId: string): boolean
  close(): Promise<void>
}

export interface CmlFaceOptions {
  readonly model: SimModel
  readonly clock: Clock
  readonly log: SimLog
}

/** Somebody else may hold the address for a while, such as another simulator with the same seed. */
const LISTEN_AGAIN_MS = 1000

/** Serves CML for every machine whose boot has come so far. It wakes only when a machine changes. */
export function cmlFace(options: CmlFaceOptions): CmlFace {
  const { model, clock, log } = options
  const servers = new Map<string, CmlServer>()
  const timers = new Map<string, () => void>()
  let closing = false

  function wakeIn(instanceId: string, ms: number | null): void {
    timers.get(instanceId)?.()
    timers.delete(instanceId)
    if (ms === null) return
    const cancel = clock.after(ms, () => follow(instanceId))
    timers.set(instanceId, cancel)
  }

  function follow(instanceId: string): void {
    if (closing) return
    const machine = model.machine(instanceId)
    const wanted = machine && machine.stage !== 'NOTHING' ? machine.endpoint : null
    const server = servers.get(instanceId)
    if (server && server.endpoint !== wanted) drop(instanceId)
    const changesAt = model.changesAtMs(instanceId)
    wakeIn(instanceId, changesAt === null ? null : changesAt - model.now())
    if (machine && wanted !== null && !servers.has(instanceId)) serve(instanceId, machine)
  }

  /** The certificate may have to be made and stored first, which can fail as listening can. */
  function serve(instanceId: string, machine: MachineView): void {
    try {
      const server = cmlServer(options, machine, error => failed(instanceId, error))
      servers.set(instanceId, server)
    } catch (error) {
      failed(instanceId, error)
    }
  }

  function drop(instanceId: string): Promise<void> | undefined {
    const server = servers.get(instanceId)
    servers.delete(instanceId)
    return server?.close()
  }

  function failed(instanceId: string, error: unknown): void {
    log.warn({ instance_id: instanceId, error: String(error) }, 'a simulated CML server could not start; trying again')
    drop(instanceId)
    if (!closing) wakeIn(instanceId, LISTEN_AGAIN_MS)
  }

  const unwatch = model.watch(follow)
  for (const machine of model.machines()) follow(machine.instance.instance_id)
  return {
    isServed: instanceId => servers.get(instanceId)?.isListening() ?? false,
    async close() {
      closing = true
      unwatch()
      for (const cancel of timers.values()) cancel()
      await Promise.all([...servers.keys()].map(drop))
    },
  }
}

interface CmlServer {
  readonly endpoint: string | null
  isListening(): boolean
  close(): Promise<void>
}

/** TCP is accepted apart from TLS, because a booting machine opens its port before it can speak TLS on it. */
function cmlServer({ model }: CmlFaceOptions, machine: MachineView, failed: (error: Error) => void): CmlServer {
  const { instance_id } = machine.instance
  const { certificate_pem: cert, key_pem: key } = model.cml.identityOf(instance_id)
  const https = createHttpsServer({ cert, key }, (request, response) =>
    respond(model, instance_id, { request, response }),
  )
  const sockets = new Set<Socket>()
  const tcp = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A client that goes away in the middle is its own business.
    socket.on('error', () => socket.destroy())
    if (model.cml.stageOf(instance_id) === 'TCP') socket.destroy()
    else https.emit('connection', socket)
  })
  https.on('tlsClientError', (_error, socket) => socket.destroy())
  tcp.on('error', failed)
  const { hostname, port } = new URL(machine.endpoint ?? '')
  tcp.listen({ host: hostname, port: Number(port) })
  return {
    endpoint: machine.endpoint,
    isListening: () => tcp.listening,
    close: () =>
      new Promise(resolve => {
        tcp.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const BAD_GATEWAY =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n' +
  '<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n'

function respond(model: SimModel, instanceId: string, { request, response }: Exchange): void {
  request.resume()
  response.setHeader('server', 'nginx')
  const stage = model.cml.stageOf(instanceId)
  if (stage === 'GATEWAY') {
    response.writeHead(502, { 'content-type': 'text/html' }).end(BAD_GATEWAY)
  } else if (stage === 'API' || stage === 'READY') {
    const { status, body } = apiAnswer(model, instanceId, request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  } else {
    request.socket.destroy()
  }
}

function apiAnswer(model: SimModel, instanceId: string, request: IncomingMessage) {
  const path = (request.url ?? '').split('?')[0]
  if (path !== '/api/v0/system_information') return { status: 404, body: { code: 404, description: 'Not Found' } }
  if (request.method !== 'GET') return { status: 405, body: { code: 405, description: '405: Method Not Allowed' } }
  return { status: 200, body: model.cml.systemInformation(instanceId) }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import type { Clock } from '@lcm/runtime/clock'
import type { CmlAnswer, CmlRequest } from '../cml/http-messages.ts'
import { nginxPage } from '../cml/nginx-pages.ts'
import type { MachineView } from '../ec2/instance.ts'
import type { SimModel } from '../sim-model.ts'

/** CML of one machine over HTTPS. It only translates; the model performs the calls. */
export interface CmlHttpsServer {
  readonly endpoint: string | null
  readonly certificate_sha256: string
  isListening(): boolean
  close(): Promise<void>
}

export interface CmlHttpsServerOptions {
  readonly model: SimModel
  readonly clock: Clock
}

/** TCP is accepted apart from TLS, because a booting machine opens its port before it speaks TLS on it. */
export function cmlHttpsServer(
  { model, clock }: CmlHttpsServerOptions,
  machine: MachineView,
  failed: (error: Error) => void,
): CmlHttpsServer {
  const { instance_id } = machine.instance
  const { certificate_pem: cert, key_pem: key, sha256 } = model.cml.identityOf(instance_id)
  const ending = new AbortController()
  const https = createHttpsServer({ cert, key }, (request, response) => {
    const exchange = { model, clock, instanceId: instance_id, signal: ending.signal }
    void respond(exchange, request, response)
  })
  const sockets = new Set<Socket>()
  const tcp = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Clients may disconnect at any time.
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
    certificate_sha256: sha256,
    isListening: () => tcp.listening,
    close: () =>
      new Promise(resolve => {
        ending.abort()
        tcp.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

interface Exchange extends CmlHttpsServerOptions {
  readonly instanceId: string
  /** Aborts when the server closes. */
  readonly signal: AbortSignal
}

const API_PATH = '/api/v0'
const BODY_BYTES_MAX = 100 * 1024
/** Limit for topologies, and for nodes with their configurations. */
const LARGE_BODY_BYTES_MAX = 20 * 1024 * 1024
const LARGE_PATH = /^\/api\/v0\/(import|labs\/[^/]+\/nodes(\/[^/]+)?)$/

async function respond(exchange: Exchange, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { model, clock, instanceId, signal } = exchange
  response.setHeader('server', 'nginx')
  if (!['GATEWAY', 'API', 'READY'].includes(model.cml.stageOf(instanceId))) return void request.socket.destroy()
  const [, path = '/', search = ''] = /^([^?]*)\??(.*)$/s.exec(request.url ?? '/') ?? []
  const body = await bodyOf(request, LARGE_PATH.test(path) ? LARGE_BODY_BYTES_MAX : BODY_BYTES_MAX)
  if (body === 'broken_off') return void request.socket.destroy()
  if (body === 'too_large') {
    response.setHeader('connection', 'close')
    return send(response, nginxPage(413))
  }
  const answer = answerOf(exchange, requestOf(request, { path, search }, body.text))
  if (answer.held_ms !== undefined) await clock.sleep(answer.held_ms, signal)
  send(response, answer)
}

/** A change that isn't durable hasn't happened; the caller gets an error. */
function answerOf({ model, instanceId }: Exchange, request: CmlRequest | null): CmlAnswer {
  if (request === null) return { status: 404, body: { code: 404, description: 'Not Found' } }
  try {
    return model.cml.call(instanceId, request)
  } catch (error) {
    return { status: 500, body: { code: 500, description: `Internal server error: ${error}` } }
  }
}

interface Target {
  readonly path: string
  readonly search: string
}

function requestOf({ method = 'GET', headers }: IncomingMessage, target: Target, body: string): CmlRequest | null {
  const { path, search } = target
  if (!path.startsWith(`${API_PATH}/`)) return null
  const [, token = null] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? []
  return { method, path: path.slice(API_PATH.length), query: new URLSearchParams(search), token, body }
}

function send(response: ServerResponse, answer: CmlAnswer): void {
  const { status, body, text, content_type = 'text/plain; charset=utf-8' } = answer
  if (text !== undefined) response.writeHead(status, { 'content-type': content_type }).end(text)
  else if (body === undefined) response.writeHead(status).end()
  else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** The request can still be answered when its body is too large. */
async function bodyOf(
  request: IncomingMessage,
  bytesMax: number,
): Promise<{ readonly text: string } | 'too_large' | 'broken_off'> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return 'too_large'
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > bytesMax) return 'too_large'
      chunks.push(chunk)
    }
    return { text: Buffer.concat(chunks).toString() }
  } catch {
    return 'broken_off'
  }
}

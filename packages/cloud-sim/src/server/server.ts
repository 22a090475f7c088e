import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { gunzip } from 'node:zlib'
import type { Clock } from '@lcm/runtime/clock'
import { cmlControl } from '../cml/cml-control-api.ts'
import type { Addressing } from '../machine-addresses.ts'
import type { SimModel } from '../sim-model.ts'
import { type AwsApi, type AwsResponse, awsApi } from './aws-api.ts'
import { type CmlApi, cmlApi, type SimLog } from './cml-listeners.ts'
import { CONTROL_PATH, type ControlApi, type ControlExtension, controlApi } from './control-api.ts'
import { refusalReason } from './loopback-guard.ts'
import { boundedRequestLog } from './request-log.ts'

export interface SimServerOptions {
  readonly model: SimModel
  readonly clock: Clock
  readonly log: SimLog
  readonly host?: string
  /** 0 selects a free port. */
  readonly port?: number
  /** `off` serves EC2 alone, for large fleets. */
  readonly cml?: 'on' | 'off'
  /** Detected by default. */
  readonly addressing?: Addressing
  /** Further routes of the control API. */
  readonly plugs?: readonly ControlExtension[]
}

export interface SimServer {
  readonly url: string
  readonly control: ControlApi
  /** Stops everything that was started here. The model stays open. */
  close(): Promise<void>
}

/** Longer than clients keep idle connections, so that they never write to a connection that is closing. */
const KEEP_ALIVE_MS = 65_000
const BODY_BYTES_MAX = 1024 * 1024
const NO_CML: CmlApi = { isServed: () => false, close: async () => undefined }

/** EC2, the CML servers of its machines and the control API. */
export async function startSimServer(options: SimServerOptions): Promise<SimServer> {
  const { model, host = '127.0.0.1', port = 0 } = options
  const journal = boundedRequestLog()
  const cml = options.cml === 'off' ? NO_CML : await startCml(options)
  const control = controlApi({
    model,
    journal,
    isServed: cml.isServed,
    plugs: [cmlControl(model), ...(options.plugs ?? [])],
  })
  const holdMs = () => model.faults.plan().held_answer_s * 1000
  const faces = { aws: awsApi(model, journal), control, clock: options.clock, holdMs }
  const http = createServer((request, response) => void exchange(faces, request, response))
  http.keepAliveTimeout = KEEP_ALIVE_MS
  try {
    const bound = await listening(http, host, port)
    return { url: `http://${host}:${bound}`, control, close: () => closed(http, cml) }
  } catch (error) {
    await cml.close()
    throw error
  }
}

async function startCml(options: SimServerOptions): Promise<CmlApi> {
  const addressing = options.addressing ?? (await addressingHere())
  options.model.setAddressing(addressing)
  if (addressing === 'ports') {
    options.log.info({}, 'only 127.0.0.1 is local here: CML servers share it, one port each; node ports are not served')
  }
  return cmlApi(options)
}

/** Linux routes all of 127.0.0.0/8 to loopback, macOS only 127.0.0.1. */
async function addressingHere(): Promise<Addressing> {
  const trial = createTcpServer()
  try {
    await listening(trial, '127.64.0.1', 0)
    return 'range'
  } catch {
    return 'ports'
  } finally {
    trial.close()
  }
}

type Listener = ReturnType<typeof createTcpServer>

function listening(server: Listener, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

async function closed(http: ReturnType<typeof createServer>, cml: CmlApi): Promise<void> {
  const ended = new Promise<void>(resolve => http.close(() => resolve()))
  http.closeAllConnections()
  await Promise.all([ended, cml.close()])
}

interface Faces {
  readonly aws: AwsApi
  readonly control: ControlApi
  readonly clock: Clock
  /** Delay of a held response. */
  readonly holdMs: () => number
}

async function exchange(faces: Faces, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request)
  if (body === null) return void response.writeHead(413, { connection: 'close' }).end()
  const url = request.url ?? '/'
  if (url.startsWith(`${CONTROL_PATH}/`)) return controlled(faces.control, { request, url, body }, response)
  const header = (name: string) => {
    const value = request.headers[name]
    return typeof value === 'string' ? value : null
  }
  sent(faces, faces.aws({ header, body }), response)
}

interface Controlled {
  readonly request: IncomingMessage
  readonly url: string
  readonly body: string
}

function controlled(control: ControlApi, { request, url, body }: Controlled, response: ServerResponse): void {
  const { host, origin, 'sec-fetch-site': site } = request.headers
  const fetchSite = typeof site === 'string' ? site : undefined
  const refused = refusalReason({ host, origin, fetchSite })
  const answer =
    refused === null
      ? control.handle({ method: request.method ?? 'GET', url, body })
      : { status: 403, body: { code: 'forbidden', message: refused } }
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
}

/** A lost response is a connection reset: the caller can't tell whether its call had an effect. */
function sent({ clock, holdMs }: Faces, answer: AwsResponse, response: ServerResponse): void {
  if (answer.sent === 'lost') return void response.socket?.resetAndDestroy()
  const send = (): void => {
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  if (answer.sent === 'held') response.once('close', clock.after(holdMs(), send))
  else send()
}

/** The whole body as text, or null if it is too long or incomplete. The request can still be answered. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) return null
      chunks.push(chunk)
    }
    const whole = Buffer.concat(chunks)
    return request.headers['content-encoding'] === 'gzip' ? await unpacked(whole) : whole.toString()
  } catch {
    return null
  }
}

function unpacked(packed: Buffer): Promise<string> {
  return new Promise((resolve, reject) =>
    gunzip(packed, { maxOutputLength: BODY_BYTES_MAX }, (error, whole) =>
      error ? reject(error) : resolve(whole.toString()),
    ),
  )
}

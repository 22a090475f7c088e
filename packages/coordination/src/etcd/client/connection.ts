import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { type ChannelCredentials, Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js'
import type { Clock } from '@lcm/runtime'
import type { Endpoint } from './endpoint.ts'
import { EtcdError, etcdErrorFrom } from './errors.ts'

/** PEM texts. Without `ca` the system's certificate authorities are trusted. */
export interface EtcdTls {
  readonly ca?: string
  readonly certificate?: string
  readonly key?: string
}

export interface CallOptions {
  readonly timeoutMs: number
  readonly token?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** One member of the cluster. Every call ends: with a response, an `EtcdError`, or the reason of its signal. */
export interface Connection {
  readonly endpoint: string
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>>
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    token: string | undefined,
  ): BidiStream<I, O>
  close(): void
}

export interface BidiStream<I extends DescMessage, O extends DescMessage> {
  send(request: MessageInitShape<I>): void
  /**
   * Next response, undefined when the server has ended the stream; throws an `EtcdError` or the error it was canceled
   * with.
   */
  next(): Promise<MessageShape<O> | undefined>
  cancel(error: unknown): void
}

/**
 * etcd disconnects clients that ping more often than every 5 s, or while no call is in progress. Proxy variables don't
 * apply to the cluster, and a connection shared with another client of this process couldn't be renewed alone.
 */
const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 6_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
}

interface Line {
  readonly endpoint: Endpoint
  readonly clock: Clock
  readonly credentials: ChannelCredentials
  client: Client
  /** Monotonic time of the last response. */
  heardAtMs: number
  /** Cancels each open stream. */
  readonly streams: Set<(error: unknown) => void>
  isClosed: boolean
}

export function openConnection(endpoint: Endpoint, clock: Clock, tls: EtcdTls = {}): Connection {
  const trust = endpoint.isEncrypted ? trusting(tls) : credentials.createInsecure()
  const client = new Client(endpoint.target, trust, CHANNEL_OPTIONS)
  const heardAtMs = Number.NEGATIVE_INFINITY
  const line: Line = { endpoint, clock, credentials: trust, client, heardAtMs, streams: new Set(), isClosed: false }
  return {
    endpoint: endpoint.name,
    async unary(method, request, options) {
      throwIfClosed(line)
      return await unary({ line, method, request, options })
    },
    stream(method, token) {
      throwIfClosed(line)
      return openExchange(line, method, token)
    },
    close: () => close(line),
  }
}

function throwIfClosed({ isClosed, endpoint }: Line): void {
  if (isClosed) throw closedError(endpoint)
}

const closedError = ({ name }: Endpoint) => new EtcdError('etcd_closed', name, 'coordination is closed')

function close(line: Line): void {
  line.isClosed = true
  for (const end of line.streams) end(closedError(line.endpoint))
  line.client.close()
}

const trusting = ({ ca, certificate, key }: EtcdTls) =>
  credentials.createSsl(bytesOf(ca), bytesOf(key), bytesOf(certificate))

const bytesOf = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem))

interface UnaryCall<I extends DescMessage, O extends DescMessage> {
  readonly line: Line
  readonly method: DescMethodUnary<I, O>
  readonly request: MessageInitShape<I>
  readonly options: CallOptions
}

/** Uses our own clock: gRPC's deadlines depend on the wall clock, which may jump. */
function unary<I extends DescMessage, O extends DescMessage>(asked: UnaryCall<I, O>): Promise<MessageShape<O>> {
  const { line, method, request, options } = asked
  const { clock, endpoint } = line
  const sentAtMs = clock.monotonic()
  return new Promise((resolve, reject) => {
    let cutShortBy: unknown
    const call = line.client.makeUnaryRequest(
      pathOf(method),
      (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
      bytes => fromBinary(method.output, bytes, { readUnknownFields: false }),
      create(method.input, request),
      metadataOf(options.token),
      (error, response) => {
        cancelTimer()
        options.signal?.removeEventListener('abort', abort)
        if (response !== undefined) line.heardAtMs = clock.monotonic()
        if (response !== undefined) resolve(response)
        else reject(cutShortBy ?? etcdErrorFrom(endpoint.name, error ?? NO_ANSWER))
      },
    )
    const cut = (reason: unknown) => {
      cutShortBy = reason
      call.cancel()
    }
    const abort = () => cut(options.signal?.reason)
    const cancelTimer = clock.after(options.timeoutMs, () => {
      if (line.heardAtMs < sentAtMs) renew(line)
      cut(new EtcdError('etcd_slow', endpoint.name, `no response within ${options.timeoutMs} ms`))
    })
    options.signal?.addEventListener('abort', abort)
    if (options.signal?.aborted) abort()
  })
}

const NO_ANSWER = { code: 2, details: 'it ended the call without a response' }

/**
 * No response since the call was sent: the connection may be dead, and pings run only during calls. The next call gets
 * a new connection; streams stay on the old one and detect it themselves.
 */
function renew(line: Line): void {
  line.client.close()
  line.client = new Client(line.endpoint.target, line.credentials, CHANNEL_OPTIONS)
}

function openExchange<I extends DescMessage, O extends DescMessage>(
  line: Line,
  method: DescMethodBiDiStreaming<I, O>,
  token: string | undefined,
): BidiStream<I, O> {
  const call: ClientDuplexStream<MessageShape<I>, MessageShape<O>> = line.client.makeBidiStreamRequest(
    pathOf(method),
    (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
    bytes => fromBinary(method.output, bytes, { readUnknownFields: false }),
    metadataOf(token),
  )
  const incoming = reading(call)
  let canceledBy: unknown
  const cancel = (error: unknown) => {
    canceledBy ??= error
    line.streams.delete(cancel)
    call.cancel()
  }
  line.streams.add(cancel)
  return {
    send(request) {
      if (call.writable) call.write(create(method.input, request))
    },
    async next() {
      try {
        const answer = await incoming()
        if (answer !== undefined) line.heardAtMs = line.clock.monotonic()
        return answer
      } catch (error) {
        throw canceledBy ?? etcdErrorFrom(line.endpoint.name, statusIn(error))
      }
    },
    cancel,
  }
}

/**
 * Delivers buffered messages before the error that ended the stream. Reads one at a time, so that a slow reader slows
 * the sender down.
 */
function reading<Answer>(call: ClientDuplexStream<never, Answer>): () => Promise<Answer | undefined> {
  let failure: unknown
  let isEnded = false
  let wake = () => undefined
  call.on('readable', () => wake())
  call.on('end', () => {
    isEnded = true
    wake()
  })
  // Never removed: an error after the reader has stopped would otherwise end the process.
  call.on('error', error => {
    failure = error
    wake()
  })
  return async () => {
    for (;;) {
      const answer: Answer | null = call.read()
      if (answer !== null) return answer
      if (failure !== undefined) throw failure
      if (isEnded) return undefined
      await new Promise<void>(resolve => {
        wake = () => void resolve()
      })
    }
  }
}

function statusIn(error: unknown): { code: number; details: string } {
  const isStatus = error instanceof Error && 'code' in error && 'details' in error
  if (isStatus && typeof error.code === 'number' && typeof error.details === 'string')
    return { code: error.code, details: error.details }
  return { code: 2, details: String(error) }
}

const pathOf = (method: { readonly name: string; readonly parent: { readonly typeName: string } }) =>
  `/${method.parent.typeName}/${method.name}`

/** A member without a leader fails at once and ends its streams, instead of serving stale data. */
function metadataOf(token: string | undefined): Metadata {
  const metadata = new Metadata()
  metadata.set('hasleader', 'true')
  if (token !== undefined && token !== '') metadata.set('token', token)
  return metadata
}

import { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import { EC2Client } from '@aws-sdk/client-ec2'
import type { Clock } from '@lcm/runtime/clock'
import { malformedResponse, statusOf, textOf } from './cloud-call.ts'

/** One attempt at a call, retries counted apart. */
export interface AwsCall {
  readonly region: string
  readonly action: string
  /** Null without a response. */
  readonly status: number | null
  /** Null on success. */
  readonly code: string | null
  readonly ms: number
}

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface AwsOptions {
  readonly clock: Clock
  /** Otherwise the SDK's own rules, `AWS_ENDPOINT_URL` included. */
  readonly endpoint?: string
  /** Otherwise the SDK's default chain. */
  readonly credentials?: AwsCredentials
  readonly onCall?: (call: AwsCall) => void
}

/** Without `throwOnRequestTimeout` the SDK only warns, and a hung endpoint would block its caller forever. */
const TIMEOUTS = { connectionTimeout: 2000, requestTimeout: 15_000, throwOnRequestTimeout: true } as const
/**
 * The SDK's limiter and retry quota are per client: throttled launches must not slow reads, so they have a client of
 * their own.
 */
const READ = { retryMode: 'adaptive', maxAttempts: 5 } as const
/** Capacity errors come as 500, which the SDK would retry at once; what to do next is the caller's decision. */
const MUTATE = { maxAttempts: 1 } as const

const clientConfig = ({ endpoint, credentials }: AwsOptions) => ({
  requestHandler: TIMEOUTS,
  ...(endpoint === undefined ? {} : { endpoint }),
  ...(credentials === undefined ? {} : { credentials }),
})

/** The SDK's middleware that copies every response for a logger, even without one: a sixth of the time of a page. */
const LOGGER = 'loggerMiddleware'

/** Clients by region, created on first use. */
interface RegionalClients<Clients> {
  in(region: string): Clients
  close(): void
}

function regionalClients<Clients>(
  make: (region: string) => Clients,
  destroy: (clients: Clients) => void,
): RegionalClients<Clients> {
  const made = new Map<string, Clients>()
  return {
    in(region) {
      const clients = made.get(region) ?? make(region)
      made.set(region, clients)
      return clients
    },
    close() {
      for (const clients of made.values()) destroy(clients)
      made.clear()
    },
  }
}

type Next<Args, Result> = (args: Args) => Promise<Result>

/** Position of a middleware that observes attempts: inside the retries. */
const ATTEMPT_OBSERVER = { step: 'finalizeRequest', priority: 'low', name: 'lcmObserveAttempts' } as const

const observeAttempts =
  (region: string, { onCall, clock }: AwsOptions) =>
  <Args, Result extends { output: unknown }>(next: Next<Args, Result>, context: { commandName?: string }) =>
  async (args: Args): Promise<Result> => {
    const startedMs = clock.monotonic()
    const report = (status: number | null, code: string | null) =>
      onCall?.({ region, action: actionOf(context.commandName), status, code, ms: clock.monotonic() - startedMs })
    try {
      const result = await next(args)
      report(statusOf(result.output), null)
      return result
    } catch (error) {
      report(statusOf(error), error instanceof Error ? textOf(error.name) : 'Unknown')
      throw error
    }
  }

const actionOf = (commandName: string | undefined) => (commandName ?? '').replace(/Command$/, '')

/** Two hundred machines with all the tags that EC2 allows stay below it. */
const BODY_BYTES_MAX = 16 * 1024 * 1024

/** Position of the middleware: before the response is parsed. */
const RESPONSE_SIZE_LIMIT = { step: 'deserialize', priority: 'low', name: 'lcmBoundAnswers' } as const

/** The SDK collects responses of any length; a body that never ends would fill the memory. */
const limitResponseSize =
  <Args, Result extends { response: unknown }>(next: (args: Args) => Promise<Result>) =>
  async (args: Args): Promise<Result> => {
    const result = await next(args)
    const { response } = result
    if (hasBody(response) && isStream(response.body)) response.body = await wholeBody(response.body)
    return result
  }

const hasBody = (response: unknown): response is { body: unknown } =>
  typeof response === 'object' && response !== null && 'body' in response

const isStream = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Leaving the loop early destroys the stream, and its connection with it. */
async function wholeBody(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.byteLength
    if (bytes > BODY_BYTES_MAX) throw malformedResponse('reading', `an answer of more than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Two clients, because the SDK's limiter and retry quota are one per client: throttled launches must not slow reads. */
export interface Ec2Clients {
  readonly read: EC2Client
  readonly mutate: EC2Client
}

export function ec2Clients(options: AwsOptions): RegionalClients<Ec2Clients> {
  const newClient = (region: string, retries: typeof READ | typeof MUTATE): EC2Client => {
    const client = new EC2Client({ region, ...retries, ...clientConfig(options) })
    client.middlewareStack.add(observeAttempts(region, options), ATTEMPT_OBSERVER)
    client.middlewareStack.add(limitResponseSize, RESPONSE_SIZE_LIMIT)
    client.middlewareStack.remove(LOGGER)
    return client
  }
  return regionalClients(
    region => ({ read: newClient(region, READ), mutate: newClient(region, MUTATE) }),
    ({ read, mutate }) => {
      read.destroy()
      mutate.destroy()
    },
  )
}

/** Client of a region and the signal of a call. */
export interface Ec2Call {
  readonly client: EC2Client
  readonly signal: AbortSignal
}

export const cloudWatchClients = (options: AwsOptions): RegionalClients<CloudWatchClient> =>
  regionalClients(
    region => {
      const client = new CloudWatchClient({ region, ...READ, ...clientConfig(options) })
      client.middlewareStack.add(observeAttempts(region, options), ATTEMPT_OBSERVER)
      client.middlewareStack.add(limitResponseSize, RESPONSE_SIZE_LIMIT)
      client.middlewareStack.remove(LOGGER)
      return client
    },
    client => client.destroy(),
  )

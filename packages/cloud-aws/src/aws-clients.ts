import type { Clock } from '@lcm/runtime/clock'
import { statusOf, textOf } from './cloud-call.ts'

/** One attempt at a call, retries counted apart. */
export interface AwsCall {
  readonly region: string
  readonly action: string
  /** Null when no answer came. */
  readonly status: number | null
  /** Null when it went well. */
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

/** Without `throwOnRequestTimeout` the SDK only warns, and a hung endpoint would hang its caller for ever. */
const TIMEOUTS = { connectionTimeout: 2000, requestTimeout: 15_000, throwOnRequestTimeout: true } as const
/** The SDK's limiter and retry quota are one per client: throttled launches must not slow reads, so these have their own. */
export const READ = { retryMode: 'adaptive', maxAttempts: 5 } as const
/** Capacity errors come as 500, which the SDK would retry at once; what to do next is the caller's decision. */
export const MUTATE = { maxAttempts: 1 } as const

export const clientConfig = ({ endpoint, credentials }: AwsOptions) => ({
  requestHandler: TIMEOUTS,
  ...(endpoint === undefined ? {} : { endpoint }),
  ...(credentials === undefined ? {} : { credentials }),
})

/** The SDK's own middleware that copies every answer for a logger, also when there is none: a sixth of the time of a page. */
export const LOGGER = 'loggerMiddleware'

/** Clients by region, made when a region is first named. */
export interface RegionalClients<Clients> {
  in(region: string): Clients
  close(): void
}

export function regionalClients<Clients>(
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
export const ATTEMPT_OBSERVER = { step: 'finalizeRequest', priority: 'low', name: 'lcmObserveAttempts' } as const

export const observeAttempts =
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

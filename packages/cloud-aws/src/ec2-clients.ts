import { createRequire } from 'node:module'
import type { EC2Client, EC2ClientConfig } from '@aws-sdk/client-ec2'
import type { Clock } from '@lcm/runtime/clock'

export type Sdk = typeof import('@aws-sdk/client-ec2')

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

export interface Ec2ClientsOptions {
  readonly clock: Clock
  /** Otherwise the SDK's own rules, `AWS_ENDPOINT_URL` included. */
  readonly endpoint?: string
  /** Otherwise the SDK's default chain. */
  readonly credentials?: AwsCredentials
  readonly onCall?: (call: AwsCall) => void
}

/** Two clients, because the SDK's limiter and retry quota are one per client: throttled launches must not slow reads. */
export interface RegionClients {
  readonly read: EC2Client
  readonly mutate: EC2Client
}

export interface Ec2Clients {
  readonly sdk: () => Sdk
  in(region: string): RegionClients
  close(): void
}

/** Without `throwOnRequestTimeout` the SDK only warns, and a hung endpoint would hang its caller for ever. */
const TIMEOUTS = { connectionTimeout: 2000, requestTimeout: 15_000, throwOnRequestTimeout: true } as const
const READ = { retryMode: 'adaptive', maxAttempts: 5 } as const
/** Capacity errors come as 500, which the SDK would retry at once; what to do next is the caller's decision. */
const MUTATE = { maxAttempts: 1 } as const

export function ec2Clients(options: Ec2ClientsOptions): Ec2Clients {
  const clients = new Map<string, RegionClients>()
  let loaded: Sdk | undefined
  const sdk = () => {
    loaded ??= loadSdk()
    return loaded
  }
  return {
    sdk,
    in(region) {
      const known = clients.get(region)
      if (known) return known
      const made = {
        read: newClient(sdk(), options, { region, ...READ }),
        mutate: newClient(sdk(), options, { region, ...MUTATE }),
      }
      clients.set(region, made)
      return made
    },
    close() {
      for (const { read, mutate } of clients.values()) {
        read.destroy()
        mutate.destroy()
      }
      clients.clear()
    },
  }
}

/** `require` loads the package in half the time of `import`, and only once somebody needs it. */
function loadSdk(): Sdk {
  return createRequire(import.meta.url)('@aws-sdk/client-ec2')
}

function newClient(sdk: Sdk, options: Ec2ClientsOptions, config: EC2ClientConfig & { region: string }): EC2Client {
  const client = new sdk.EC2Client({
    ...config,
    requestHandler: TIMEOUTS,
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
  })
  const { onCall, clock } = options
  if (onCall) observe(client, config.region, { onCall, clock })
  return client
}

interface Observer {
  readonly onCall: (call: AwsCall) => void
  readonly clock: Clock
}

/** Sits inside the retries, so it sees every attempt. */
function observe(client: EC2Client, region: string, { onCall, clock }: Observer): void {
  client.middlewareStack.add(
    (next, context) => async args => {
      const startedMs = clock.monotonic()
      const report = (status: number | null, code: string | null) =>
        onCall({ region, action: actionOf(context.commandName), status, code, ms: clock.monotonic() - startedMs })
      try {
        const result = await next(args)
        report(statusOf(result.output), null)
        return result
      } catch (error) {
        report(statusOf(error), error instanceof Error ? error.name : 'Unknown')
        throw error
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'lcmObserveAttempts' },
  )
}

const actionOf = (commandName: string | undefined) => (commandName ?? '').replace(/Command$/, '')

/** The SDK keeps the status of answers and errors alike in `$metadata`. */
export function statusOf(outcome: unknown): number | null {
  if (typeof outcome !== 'object' || outcome === null || !('$metadata' in outcome)) return null
  const metadata = outcome.$metadata
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return null
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null
}

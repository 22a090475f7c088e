import { hostname } from 'node:os'
import { type Clock, type Election, LEADER_ELECTION_DEFAULTS, type Logger, linkedAbort } from '@lcm/runtime'
import type { ChangeKeys } from '../change-keys.ts'
import { etcdChangeKeys } from './change-keys/change-keys.ts'
import type { EtcdClient } from './client/client.ts'
import type { EtcdTls } from './client/connection.ts'
import { EtcdEndpointError, parseEndpoint } from './client/endpoint.ts'
import { type EtcdHealth, healthTracker } from './client/health-tracker.ts'
import type { EtcdAuth } from './client/members.ts'
import type { ElectionDeps } from './election/candidate.ts'
import { type EtcdElection, etcdElection } from './election/election.ts'

export { EtcdError, type EtcdErrorCode } from './client/errors.ts'
export type { EndpointHealth, EtcdHealth } from './client/health-tracker.ts'
export type { EtcdAuth, EtcdTls }
export { EtcdEndpointError }

export interface EtcdCoordinationOptions {
  /** `host:port` each; the host may be a name, IPv4 or `[IPv6]`, with an optional `http://` or `https://`. */
  readonly endpoints: readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  /** Elections use `<keyPrefix>/<service>/leader`. Change keys are given in full. */
  readonly keyPrefix?: string
  /** In whole seconds; etcd grants at least one and a half times its election timeout. */
  readonly leaseTtlMs?: number
  /** Delay after a failed campaign call. */
  readonly retryIntervalMs?: number
  readonly tls?: EtcdTls
  readonly auth?: EtcdAuth
  /** Address where standbys can detect the end of this process. Without it, failover waits for the lease. */
  readonly liveness?: { readonly host: string }
}

export interface EtcdCoordination {
  election(service: string, instanceId: string): Election
  readonly changeKeys: ChangeKeys
  /** Current health, polled every few seconds. */
  health(): EtcdHealth
  /** Resigns for good, then ends streams and connections. */
  close(): Promise<void>
}

/** Starts without etcd: calls wait or get an `EtcdError`, and no instance leads. Throws `EtcdEndpointError`. */
export function etcdCoordination(options: EtcdCoordinationOptions): EtcdCoordination {
  const closing = linkedAbort()
  const { connect, health } = lazyClient(options)
  const deps = electionDeps(options, connect, closing.signal)
  const elections = new Set<EtcdElection>()
  const opening = connect()
  opening.catch(err => options.logger.error({ err }, 'the etcd client could not be loaded'))
  return {
    election(service, instanceId) {
      const election = etcdElection(deps, service, instanceId)
      elections.add(election)
      return election
    },
    changeKeys: etcdChangeKeys({ logger: options.logger, connect }),
    health,
    async close() {
      closing.abort(new Error('coordination is closed'))
      await Promise.all([...elections].map(election => election.close()))
      const client = await opening.catch(() => undefined)
      client?.close()
    },
  }
}

/** Loads gRPC and protobuf with the first client, so that only users of etcd pay for them. */
function lazyClient(options: EtcdCoordinationOptions) {
  const { clock, logger, tls, auth, keyPrefix = LEADER_ELECTION_DEFAULTS.electionKeyPrefix } = options
  const endpoints = options.endpoints.map(endpoint => parseEndpoint(endpoint, tls !== undefined))
  if (endpoints.length === 0) throw new EtcdEndpointError('')
  const names = endpoints.map(({ name }) => name)
  const health = healthTracker(names, clock, logger)
  let client: Promise<EtcdClient> | undefined
  const open = async () => {
    const { openClient } = await import('./client/client.ts')
    return openClient({ endpoints, clock, logger, health, tls, auth, probeKey: `${keyPrefix}/` })
  }
  const connect = (): Promise<EtcdClient> => {
    client ??= open()
    return client
  }
  return { connect, health: health.health }
}

function electionDeps(
  options: EtcdCoordinationOptions,
  connect: () => Promise<EtcdClient>,
  isClosed: AbortSignal,
): ElectionDeps {
  const defaults = LEADER_ELECTION_DEFAULTS
  return {
    clock: options.clock,
    logger: options.logger,
    hostName: hostname(),
    keyPrefix: options.keyPrefix ?? defaults.electionKeyPrefix,
    leaseTtlMs: options.leaseTtlMs ?? defaults.leaseTtlMs,
    retryIntervalMs: options.retryIntervalMs ?? defaults.retryIntervalMs,
    livenessHost: options.liveness?.host,
    isClosed,
    connect,
  }
}

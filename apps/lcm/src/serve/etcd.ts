import { type EtcdCoordination, EtcdEndpointError, etcdCoordination } from '@lcm/coordination/etcd/coordination'
import { type Reason, reason } from '@lcm/domain/reason'
import type { Logger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { etcdEndpoints, type SharedEnvironment } from './environment/environment.ts'
import { readNamedFile } from './environment/read-environment.ts'
import { StartupError } from './startup-error.ts'

export function openEtcd(env: SharedEnvironment, logger: Logger): EtcdCoordination {
  try {
    return connected(env, logger)
  } catch (cause) {
    throw withVariable(env, cause)
  }
}

/** Adds the name of the variable to an invalid etcd endpoint. */
export function withVariable(env: SharedEnvironment, cause: unknown): unknown {
  if (!(cause instanceof EtcdEndpointError)) return cause
  const name = env.ETCD_ENDPOINTS === undefined ? 'ETCD_HOST' : 'ETCD_ENDPOINTS'
  return new StartupError(`${name}: ${cause.message}`, { cause, advice: cause.advice, exitCode: 2 })
}

function connected(env: SharedEnvironment, logger: Logger): EtcdCoordination {
  const { ETCD_USERNAME: user, ETCD_PASSWORD: password = '' } = env
  return etcdCoordination({
    endpoints: etcdEndpoints(env),
    clock: systemClock,
    logger,
    leaseTtlMs: env.LEADER_LEASE_TTL,
    liveness: { host: env.LCM_LIVENESS_HOST },
    ...(user === undefined ? {} : { auth: { user, password } }),
    ...(env.ETCD_CA_FILE === undefined ? {} : { tls: tlsOf(env) }),
  })
}

export function tlsOf(env: SharedEnvironment): { ca?: string; certificate?: string; key?: string } {
  const { ETCD_CA_FILE: ca, ETCD_CERT_FILE: certificate, ETCD_KEY_FILE: key } = env
  return {
    ...(ca === undefined ? {} : { ca: readNamedFile('ETCD_CA_FILE', ca) }),
    ...(certificate === undefined ? {} : { certificate: readNamedFile('ETCD_CERT_FILE', certificate) }),
    ...(key === undefined ? {} : { key: readNamedFile('ETCD_KEY_FILE', key) }),
  }
}

/** Problems of etcd, for /health. */
export function etcdProblems(coordination: EtcdCoordination): Reason[] {
  const { problem } = coordination.health()
  if (problem === null) return []
  const { code: etcd_code, since, message: error, advice } = problem
  return [reason('etcd_problem', { etcd_code, since, error, advice })]
}

/** The reason why a service waits for etcd; null if etcd responds. */
export function etcdAwaited(coordination: EtcdCoordination): string | null {
  const { state, problem } = coordination.health()
  if (state === 'starting') return 'etcd, which has not responded yet'
  return problem === null ? null : `etcd: ${problem.message}`
}

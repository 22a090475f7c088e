export interface ReconciliationConfig {
  readonly serviceName: string
  readonly metricPrefix: string
  readonly intervalMs: number
  readonly initialDelayMs: number
  readonly pollingEnabled: boolean
  readonly maxConcurrent: number
  readonly backoffBaseMs: number
  readonly backoffMultiplier: number
  readonly backoffMaxMs: number
}

export const RECONCILIATION_DEFAULTS: ReconciliationConfig = {
  serviceName: 'reconciliation',
  metricPrefix: 'reconciliation',
  intervalMs: 30_000,
  initialDelayMs: 5_000,
  pollingEnabled: true,
  maxConcurrent: 10,
  backoffBaseMs: 1_000,
  backoffMultiplier: 2,
  backoffMaxMs: 60_000,
}

export interface LeaderElectionConfig {
  readonly serviceName: string
  readonly instanceId: string
  readonly etcdEndpoints: readonly string[]
  readonly electionKeyPrefix: string
  readonly leaseTtlMs: number
  /** Delay after a failed campaign call. */
  readonly retryIntervalMs: number
}

/** `instanceId` has no constant default: create one with `generatedInstanceId`. */
export const LEADER_ELECTION_DEFAULTS: Omit<LeaderElectionConfig, 'instanceId'> = {
  serviceName: 'service',
  etcdEndpoints: ['localhost:2379'],
  electionKeyPrefix: '/lcm',
  leaseTtlMs: 15_000,
  retryIntervalMs: 5_000,
}

/** Host name and eight random hex digits; `random` returns 0 to 1. */
export function generatedInstanceId(hostName: string, random: () => number): string {
  const suffix = Math.floor(random() * 2 ** 32)
  return `${hostName}-${suffix.toString(16).padStart(8, '0')}`
}

export interface WatchConfig {
  readonly enabled: boolean
  readonly prefix: string
  readonly reconnectDelayMs: number
  readonly reconnectDelayMaxMs: number
  readonly maxReconnectAttempts: number
  readonly debounceMs: number
  readonly startupReconcileEnabled: boolean
  readonly startupReconcileDelayMs: number
}

export const WATCH_DEFAULTS: WatchConfig = {
  enabled: true,
  prefix: '',
  reconnectDelayMs: 1_000,
  reconnectDelayMaxMs: 10_000,
  maxReconnectAttempts: 10,
  debounceMs: 500,
  startupReconcileEnabled: true,
  startupReconcileDelayMs: 2_000,
}

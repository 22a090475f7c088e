import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AccountCheck, type CheckedLaunch, checkAccount } from '@lcm/cloud-aws/check-account'
import { checkEtcd, type EtcdMemberCheck } from '@lcm/coordination/etcd/client/diagnostics'
import { LEADER_ELECTION_DEFAULTS } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { checkMongo, checkSqlite, isSqliteLocked, type StoreCheck } from '@lcm/store/diagnostics'
import { type ExaminedEnvironment, etcdEndpoints, examinedEnvironment } from './environment/environment.ts'
import type { Env } from './environment/read-environment.ts'
import { tlsOf, withVariable } from './etcd.ts'
import { readRegionsFile } from './files/regions-file.ts'
import { StartupError } from './startup-error.ts'

export type { AccountCheck, CheckedLaunch, EtcdMemberCheck, ExaminedEnvironment, StoreCheck }
export { StartupError }

/** Time limits of a probe; results found before the deadline count. */
export interface ProbeLimits {
  readonly clock: Clock
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

/** The environment as services read it, or the error of their start. */
export function readEnvironment(env: Env): ExaminedEnvironment | StartupError {
  try {
    return examinedEnvironment(env)
  } catch (error) {
    if (error instanceof StartupError) return error
    throw error
  }
}

export interface FolderFacts {
  /** Whether a process holds its lock; null if unknown. */
  readonly isLocked: boolean | null
  /** The recorded cloud of its fleet. */
  readonly cloud: string | null
  /** The fleet id, which is the tag of its machines. */
  readonly fleet: string | null
  /** Null if it does not exist yet. */
  readonly store: StoreCheck | null
}

/** Reads the data folder of an embedded LCM without changing it. */
export function examineFolder(path: string): FolderFacts {
  const store = join(path, 'lcm.sqlite')
  return {
    isLocked: isSqliteLocked(join(path, 'lock')),
    cloud: wordIn(join(path, 'cloud')),
    fleet: wordIn(join(path, 'fleet-id')),
    store: existsSync(store) ? checkSqlite(store) : null,
  }
}

/** Null if the file can't be read, so that the other checks still run. */
function wordIn(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}

const SQLITE = 'sqlite:'

/** The file of an SQLite store; null for MongoDB. */
export const fileOfStore = ({ LCM_STORE = '' }: ExaminedEnvironment): string | null =>
  LCM_STORE.startsWith(SQLITE) ? LCM_STORE.slice(SQLITE.length) : null

/** Probes the store in LCM_STORE; null if it is not set. */
export async function examineStore(env: ExaminedEnvironment, { deadlineMs }: ProbeLimits): Promise<StoreCheck | null> {
  if (env.LCM_STORE === undefined) return null
  const file = fileOfStore(env)
  return file === null ? checkMongo(env.LCM_STORE, deadlineMs) : checkSqlite(file)
}

/** Probes the etcd members. Rejects with a StartupError for invalid endpoints. */
export async function examineCoordination(
  env: ExaminedEnvironment,
  { signal }: ProbeLimits,
): Promise<readonly EtcdMemberCheck[]> {
  const { ETCD_USERNAME: user, ETCD_PASSWORD: password = '' } = env
  return checkEtcd({
    endpoints: etcdEndpoints(env),
    probeKey: `${LEADER_ELECTION_DEFAULTS.electionKeyPrefix}/`,
    signal,
    ...(user === undefined ? {} : { auth: { user, password } }),
    ...(env.ETCD_CA_FILE === undefined ? {} : { tls: tlsOf(env) }),
  }).catch((cause: unknown) => {
    throw withVariable(env, cause)
  })
}

/** Facts about the fleet from the API and the data folder. */
export interface Known {
  /** Used if there is no regions file. */
  readonly regions: readonly string[]
  readonly launch: CheckedLaunch | null
  readonly fleet: string | null
}

const NO_SUBNET = 'subnet-00000000000000000'

/** Probes the AWS account. Throws a StartupError for an invalid regions file. */
export function examineAws(env: ExaminedEnvironment, known: Known, limits: ProbeLimits): Promise<AccountCheck> {
  const { AWS_REGIONS_CONFIG_PATH: file, AWS_ENDPOINT_URL: endpoint } = env
  const places = Object.entries(file === undefined ? {} : readRegionsFile(file)).map(([region, config]) => ({
    region,
    subnet_id: config.subnets[0] ?? NO_SUBNET,
    security_group_ids: config.security_group_ids,
    key_name: config.key_name,
  }))
  const unplaced = known.regions.map(region => placeless(region))
  const [first = placeless('us-east-1'), ...rest] = places.length > 0 ? places : unplaced
  return checkAccount({
    ...limits,
    regions: [first, ...rest],
    launch: known.launch,
    fleet: env.LCM_FLEET ?? known.fleet,
    fetch: globalThis.fetch,
    ...(endpoint === undefined ? {} : { endpoint }),
  })
}

const placeless = (region: string) => ({ region, subnet_id: NO_SUBNET, security_group_ids: [], key_name: null })

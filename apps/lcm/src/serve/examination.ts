import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AccountFacts, type ExaminedLaunch, examineAccount } from '@lcm/cloud-aws/account-examination'
import { checkEtcd, type EtcdMemberCheck } from '@lcm/coordination/etcd/client/diagnostics'
import { LEADER_ELECTION_DEFAULTS } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { checkMongo, checkSqlite, isSqliteLocked, type StoreCheck } from '@lcm/store/diagnostics'
import { type Env, type ExaminedEnvironment, etcdEndpoints, examinedEnvironment } from './environment/environment.ts'
import { tlsOf, withVariable } from './etcd.ts'
import { readRegionFile } from './files/region-file.ts'
import { StartupError } from './startup-error.ts'

export type { AccountFacts, EtcdMemberCheck, ExaminedEnvironment, ExaminedLaunch, StoreCheck }

/** Whoever examines gives up after so long; what was found by then counts. */
export interface Patience {
  readonly clock: Clock
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

/** The environment as services would read it, or the sentence with which they would refuse to start. */
export function readEnvironment(env: Env): ExaminedEnvironment | string {
  try {
    return examinedEnvironment(env)
  } catch (error) {
    if (error instanceof StartupError) return error.message
    throw error
  }
}

export interface FolderFacts {
  /** Whether a process holds its lock; null where that can't be told. */
  readonly isLocked: boolean | null
  /** The cloud of its fleet, as it was written down. */
  readonly cloud: string | null
  /** By what its machines are known. */
  readonly fleet: string | null
  /** Null where it has none yet. */
  readonly store: StoreCheck | null
}

/** What the folder of an embedded LCM holds. It is only read. */
export function examineFolder(path: string): FolderFacts {
  const store = join(path, 'lcm.sqlite')
  return {
    isLocked: isSqliteLocked(join(path, 'lock')),
    cloud: wordIn(join(path, 'cloud')),
    fleet: wordIn(join(path, 'fleet-id')),
    store: existsSync(store) ? checkSqlite(store) : null,
  }
}

/** Null also where it belongs to somebody else: whoever looks for what is wrong must get to the end of it. */
function wordIn(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}

const SQLITE = 'sqlite:'

/** The file of a store that is one; null for any other. */
export const fileOfStore = ({ LCM_STORE = '' }: ExaminedEnvironment): string | null =>
  LCM_STORE.startsWith(SQLITE) ? LCM_STORE.slice(SQLITE.length) : null

/** The store that the environment names; null where it names none. */
export async function examineStore(env: ExaminedEnvironment, { deadlineMs }: Patience): Promise<StoreCheck | null> {
  if (env.LCM_STORE === undefined) return null
  const file = fileOfStore(env)
  return file === null ? checkMongo(env.LCM_STORE, deadlineMs) : checkSqlite(file)
}

/** Rejects with a StartupError for an etcd that services would refuse. */
export async function examineCoordination(
  env: ExaminedEnvironment,
  { signal }: Patience,
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

/** What is known of the fleet elsewhere. */
export interface Known {
  /** Where the file of regions is not at hand. */
  readonly regions: readonly string[]
  readonly launch: ExaminedLaunch | null
  readonly fleet: string | null
}

const NO_SUBNET = 'subnet-00000000000000000'

/** Throws StartupError for a file of regions that can't be used. */
export function examineAws(env: ExaminedEnvironment, known: Known, patience: Patience): Promise<AccountFacts> {
  const { AWS_REGIONS_CONFIG_PATH: file, AWS_ENDPOINT_URL: endpoint } = env
  const places = Object.entries(file === undefined ? {} : readRegionFile(file)).map(([region, config]) => ({
    region,
    subnet_id: config.subnets[0] ?? NO_SUBNET,
    security_group_ids: config.security_group_ids,
    key_name: config.key_name,
  }))
  const unplaced = known.regions.map(region => placeless(region))
  const [first = placeless('us-east-1'), ...rest] = places.length > 0 ? places : unplaced
  return examineAccount({
    ...patience,
    regions: [first, ...rest],
    launch: known.launch,
    fleet: env.LCM_FLEET ?? known.fleet,
    fetch: globalThis.fetch,
    ...(endpoint === undefined ? {} : { endpoint }),
  })
}

const placeless = (region: string) => ({ region, subnet_id: NO_SUBNET, security_group_ids: [], key_name: null })

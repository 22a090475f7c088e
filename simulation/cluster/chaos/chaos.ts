import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { enroll } from '../load/learner.ts'
import { ONE_HOST } from '../rolling-restart.ts'
import { type ChaosCluster, openChaosCluster } from './chaos-cluster.ts'
import { clockSteps } from './clock-faults.ts'
import { fullDisks, readOnlyDisks } from './disk-faults.ts'
import { cloudCuts, memberLosses, partitions } from './etcd-and-network-faults.ts'
import { type Fault, type FaultVerdict, faultUnderLoad } from './fault-under-load.ts'
import { freezes, kills, powerCuts } from './process-faults.ts'
import { openSmallDisk } from './small-disk.ts'

export interface ChaosPlan {
  readonly rounds: number
  /** Sessions per fault. */
  readonly sessions: number
  readonly leaseTtlSeconds: number
  /** Names of faults; empty means all. */
  readonly only: readonly string[]
  readonly print: (line: string) => void
  /** Folder for the logs of the processes. */
  readonly logs?: string
}

export interface ChaosVerdict {
  readonly verdicts: readonly FaultVerdict[]
  /** Faults that this machine does not allow, with the reason. */
  readonly leftOut: readonly string[]
}

const WORKERS = 2
/** Large enough for all writes of a run, and small enough to fill quickly. */
const DISK_MB = 96

const faultsOf = (rounds: number): readonly Fault[] => [
  ...[kills(rounds), powerCuts(rounds), freezes(rounds), memberLosses(rounds), partitions(rounds)],
  ...[cloudCuts(rounds), clockSteps(rounds)],
]
const storeFaultsOf = (rounds: number): readonly Fault[] => [fullDisks(rounds), readOnlyDisks(rounds)]

export const FAULTS: readonly string[] = [...faultsOf(1), ...storeFaultsOf(1)].map(({ name }) => name)

/** Injects one fault after the other on one cluster. Faults of the store need an API with a small disk. */
export async function chaos(plan: ChaosPlan): Promise<ChaosVerdict> {
  const isSelected = ({ name }: Fault) => plan.only.length === 0 || plan.only.includes(name)
  const faults = faultsOf(plan.rounds).filter(isSelected)
  const ofStore = storeFaultsOf(plan.rounds).filter(isSelected)
  if (ofStore.length === 0) return { verdicts: await onCluster(plan, faults), leftOut: [] }
  const disk = await openSmallDisk(DISK_MB)
  if (disk === null) {
    const why = 'user and mount namespaces are not allowed here'
    return { verdicts: await onCluster(plan, faults), leftOut: ofStore.map(({ name }) => `${name}: ${why}`) }
  }
  try {
    return { verdicts: await onCluster(plan, [...faults, ...ofStore], disk), leftOut: [] }
  } finally {
    await disk.close()
  }
}

async function onCluster(
  { leaseTtlSeconds, sessions, print, logs }: ChaosPlan,
  faults: readonly Fault[],
  disk: Awaited<ReturnType<typeof openSmallDisk>> = null,
): Promise<readonly FaultVerdict[]> {
  if (faults.length === 0) return []
  const setup = await openChaosCluster({ leaseTtlSeconds, disk })
  const verdicts: FaultVerdict[] = []
  try {
    const { cluster, client } = setup
    const learner = await enroll(cluster, { client, workers: WORKERS, topology: ONE_HOST, isLicensed: true })
    for (const fault of faults) verdicts.push(await faultUnderLoad(setup, fault, { learner, sessions, print }))
  } finally {
    if (logs !== undefined) keepLogs(setup, logs)
    await setup.close()
  }
  return verdicts
}

function keepLogs({ api }: ChaosCluster, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [n, { name, log }] of api.environment.processes.entries())
    writeFileSync(join(folder, `${n}-${name}.log`), log())
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { enroll } from '../load/learner.ts'
import { ONE_HOST } from '../rolling-restart.ts'
import { type ChaosCluster, openChaosCluster } from './chaos-cluster.ts'
import { clockSteps } from './clock-faults.ts'
import { type Fault, type FaultVerdict, faultUnderLoad } from './fault-under-load.ts'
import { cloudCuts, memberLosses, partitions } from './network-faults.ts'
import { freezes, kills, powerCuts } from './process-faults.ts'
import { openSmallDisk } from './small-disk.ts'
import { fullDisks, readOnlyDisks } from './store-faults.ts'

export interface ChaosPlan {
  readonly rounds: number
  /** In each trouble. */
  readonly sessions: number
  readonly leaseTtlSeconds: number
  /** All, unless some are named. */
  readonly only: readonly string[]
  readonly say: (line: string) => void
  /** A folder for what the processes logged. */
  readonly logs?: string
}

export interface ChaosVerdict {
  readonly verdicts: readonly FaultVerdict[]
  /** What could not be done here, and why. */
  readonly leftOut: readonly string[]
}

const WORKERS = 2
/** Room for all that is written meanwhile, and quickly filled. */
const DISK_MB = 96

const troublesOf = (rounds: number): readonly Fault[] => [
  ...[kills(rounds), powerCuts(rounds), freezes(rounds), memberLosses(rounds), partitions(rounds)],
  ...[cloudCuts(rounds), clockSteps(rounds)],
]
const storeTroublesOf = (rounds: number): readonly Fault[] => [fullDisks(rounds), readOnlyDisks(rounds)]

export const FAULTS: readonly string[] = [...troublesOf(1), ...storeTroublesOf(1)].map(({ name }) => name)

/** One trouble after the other, on one cluster; those of the store on another, whose API has a disk of its own. */
export async function chaos(plan: ChaosPlan): Promise<ChaosVerdict> {
  const isAsked = ({ name }: Fault) => plan.only.length === 0 || plan.only.includes(name)
  const verdicts = await inPlace(plan, troublesOf(plan.rounds).filter(isAsked))
  const ofStore = storeTroublesOf(plan.rounds).filter(isAsked)
  if (ofStore.length === 0) return { verdicts, leftOut: [] }
  const disk = await openSmallDisk(DISK_MB)
  if (disk === null) {
    const why = 'user and mount namespaces are not allowed here'
    return { verdicts, leftOut: ofStore.map(({ name }) => `${name}: ${why}`) }
  }
  try {
    return { verdicts: [...verdicts, ...(await inPlace(plan, ofStore, disk))], leftOut: [] }
  } finally {
    await disk.close()
  }
}

async function inPlace(
  { leaseTtlSeconds, sessions, say, logs }: ChaosPlan,
  troubles: readonly Fault[],
  disk: Awaited<ReturnType<typeof openSmallDisk>> = null,
): Promise<readonly FaultVerdict[]> {
  if (troubles.length === 0) return []
  const place = await openChaosCluster({ leaseTtlSeconds, disk })
  const verdicts: FaultVerdict[] = []
  try {
    const { cluster, client } = place
    const learner = await enroll(cluster, { client, workers: WORKERS, topology: ONE_HOST, isLicensed: true })
    for (const trouble of troubles) verdicts.push(await faultUnderLoad(place, trouble, { learner, sessions, say }))
  } finally {
    if (logs !== undefined) keepLogs(place, logs)
    await place.close()
  }
  return verdicts
}

function keepLogs({ api }: ChaosCluster, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [n, { name, log }] of api.household.processes.entries())
    writeFileSync(join(folder, `${n}-${name}.log`), log())
}

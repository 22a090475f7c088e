import { toMs } from '../instant.ts'
import { isDead } from '../worker/facts.ts'
import { EC2_STATES, type Instance, TAG } from '../worker/instance.ts'
import type { Worker } from '../worker/worker.ts'

/** Before that a machine may be one of ours whose record is just being written. */
export const IMPORT_AGE_MS = 2 * 60_000

export interface DiscoveryRules {
  readonly fleet: string
  /** The tag that says that a machine is to be managed; null: the image alone decides. */
  readonly tag: { readonly key: string; readonly value: string } | null
  /** Images whose machines are to be managed; null: any. */
  readonly imageIds: ReadonlySet<string> | null
  readonly importEnabled: boolean
}

/** What a machine that was found means. */
export type Finding =
  /** No worker has this instance: import it. */
  | { readonly kind: 'import'; readonly instance: Instance }
  /** It belongs to a worker that does not know it yet: that worker is to look. */
  | { readonly kind: 'wake'; readonly instance: Instance; readonly workerId: string }
  /** It is marked as ours, and no record stands for it. */
  | { readonly kind: 'orphan'; readonly instance: Instance; readonly because: string }
  | { readonly kind: 'ignore'; readonly instance: Instance; readonly because: string }

/** The records that a finding is judged by. The cloud must have been listed before these were read. */
export interface KnownWorkers {
  readonly byInstance: ReadonlyMap<string, Worker>
  readonly byId: ReadonlyMap<string, Worker>
}

export const knownWorkers = (workers: readonly Worker[]): KnownWorkers => ({
  byInstance: new Map(workers.flatMap(each => (each.ec2_instance_id === null ? [] : [[each.ec2_instance_id, each]]))),
  byId: new Map(workers.map(each => [each.id, each])),
})

/** What to make of one machine. Discovery writes no state of workers that are known. */
export function judgeFound(instance: Instance, known: KnownWorkers, rules: DiscoveryRules, nowMs: number): Finding {
  const ignore = (because: string): Finding => ({ kind: 'ignore', instance, because })
  const fleet = instance.tags[TAG.fleet]
  if (isDead(instance)) return ignore(`it is ${instance.state}`)
  if (fleet !== undefined && fleet !== rules.fleet) return ignore(`it belongs to fleet ${fleet}`)
  const recorded = known.byInstance.get(instance.instance_id)
  if (recorded !== undefined && recorded.status !== 'TERMINATED') return ignore(`it is ${recorded.name}`)
  if (fleet === rules.fleet) return judgeOurs(instance, known, recorded)
  if (!isWanted(instance, rules)) return ignore('it is not marked to be managed')
  // It would be recorded as stopped, and then kept so.
  if (!EC2_STATES.some(state => state === instance.state)) return ignore(`EC2 says ${instance.state}`)
  if (!rules.importEnabled) return ignore('machines are not imported automatically')
  if (nowMs - toMs(instance.launched_at) < IMPORT_AGE_MS) return ignore('it is too young to be judged')
  return { kind: 'import', instance }
}

function isWanted(instance: Instance, { tag, imageIds }: DiscoveryRules): boolean {
  // Without any rule every machine of the account would be taken.
  if (tag === null && imageIds === null) return false
  const isTagged = tag === null || instance.tags[tag.key] === tag.value
  return isTagged && (imageIds === null || imageIds.has(instance.image_id))
}

function judgeOurs(instance: Instance, known: KnownWorkers, recorded: Worker | undefined): Finding {
  const orphan = (because: string): Finding => ({ kind: 'orphan', instance, because })
  const workerId = instance.tags[TAG.workerId]
  const worker = workerId === undefined ? undefined : known.byId.get(workerId)
  if (recorded !== undefined) return orphan(`${recorded.name} is TERMINATED, and its machine is ${instance.state}`)
  if (worker === undefined) return orphan(`no worker ${workerId ?? 'is named on it'} is known`)
  if (worker.status === 'TERMINATED')
    return orphan(`${worker.name} is TERMINATED, and its machine is ${instance.state}`)
  if (worker.ec2_instance_id !== null) return orphan(`${worker.name} has another machine, ${worker.ec2_instance_id}`)
  if (!looksForMachine(worker)) return orphan(`${worker.name} is ${worker.status} and does not look for a machine`)
  return { kind: 'wake', instance, workerId: worker.id }
}

/** Whether it asks EC2 for a machine that carries its name, now or before its next launch; others would never adopt one. */
const looksForMachine = ({ status, desired_status, launch }: Worker): boolean =>
  launch?.state === 'open' || (status === 'PENDING' && desired_status === 'RUNNING')

/** As a new record begins: what is, and wanted so. */
export function statusOfImport(instance: Instance): 'PROVISIONING' | 'STARTING' | 'STOPPED' {
  if (instance.state === 'pending') return 'PROVISIONING'
  return instance.state === 'running' ? 'STARTING' : 'STOPPED'
}

/** Tags that are kept as labels, by their names there. */
const LABELS: Readonly<Record<string, string>> = { 'cml-environment': 'environment', 'cml-region': 'logical_region' }
const LABEL_CHARS_MAX = 128

export const labelsOfImport = (instance: Instance): Record<string, string> =>
  Object.fromEntries(
    Object.entries(LABELS).flatMap(([tag, label]) => {
      const value = instance.tags[tag]
      return value === undefined ? [] : [[label, value.slice(0, LABEL_CHARS_MAX)]]
    }),
  )

import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { isDead } from '../worker/cml-endpoint.ts'
import { EC2_STATES, type Instance, TAG } from '../worker/ec2-instance.ts'
import type { Worker } from '../worker/worker.ts'

/** A younger machine may belong to a worker whose record is just being written. */
export const IMPORT_AGE_MS = 2 * 60_000

export interface DiscoveryRules {
  readonly fleet: string
  /** The tag of machines to manage; null: the image alone decides. */
  readonly tag: { readonly key: string; readonly value: string } | null
  /** Images whose machines are to be managed; null: any. */
  readonly imageIds: ReadonlySet<string> | null
  readonly importEnabled: boolean
}

/** What discovery does about a machine. */
export type Finding =
  /** No worker has this instance: import it. */
  | { readonly kind: 'import'; readonly instance: Instance }
  /** It belongs to a worker that does not know it yet: that worker is reconciled. */
  | { readonly kind: 'wake'; readonly instance: Instance; readonly workerId: string }
  /** It has the tags of this fleet, and no worker record. */
  | { readonly kind: 'orphan'; readonly instance: Instance; readonly because: Reason }
  | { readonly kind: 'ignore'; readonly instance: Instance; readonly because: Reason }

/** The records that a machine is compared with. The cloud must have been listed before these were read. */
export interface KnownWorkers {
  readonly byInstance: ReadonlyMap<string, Worker>
  readonly byId: ReadonlyMap<string, Worker>
}

export const knownWorkers = (workers: readonly Worker[]): KnownWorkers => ({
  byInstance: new Map(workers.flatMap(each => (each.ec2_instance_id === null ? [] : [[each.ec2_instance_id, each]]))),
  byId: new Map(workers.map(each => [each.id, each])),
})

/** Judges one machine. Discovery never changes the state of known workers. */
export function judgeFound(instance: Instance, known: KnownWorkers, rules: DiscoveryRules, nowMs: number): Finding {
  const ignore = (because: Reason): Finding => ({ kind: 'ignore', instance, because })
  const fleet = instance.tags[TAG.fleet]
  if (isDead(instance)) return ignore(reason('instance_ended', { state: instance.state }))
  if (fleet !== undefined && fleet !== rules.fleet) return ignore(reason('other_fleet', { fleet }))
  const recorded = known.byInstance.get(instance.instance_id)
  if (recorded !== undefined && recorded.status !== 'TERMINATED')
    return ignore(reason('instance_of_worker', { worker: recorded.name }))
  if (fleet === rules.fleet) return judgeOurs(instance, known, recorded)
  if (!isWanted(instance, rules)) return ignore(reason('not_selected_for_import'))
  // It would be recorded as stopped, and then kept so.
  if (!EC2_STATES.some(state => state === instance.state))
    return ignore(reason('instance_state_unknown', { state: instance.state }))
  if (!rules.importEnabled) return ignore(reason('import_disabled'))
  if (nowMs - toMs(instance.launched_at) < IMPORT_AGE_MS)
    return ignore(reason('instance_too_young', { seconds: IMPORT_AGE_MS / 1000 }))
  return { kind: 'import', instance }
}

function isWanted(instance: Instance, { tag, imageIds }: DiscoveryRules): boolean {
  // Without any rule every machine of the account would be imported.
  if (tag === null && imageIds === null) return false
  const isTagged = tag === null || instance.tags[tag.key] === tag.value
  return isTagged && (imageIds === null || imageIds.has(instance.image_id))
}

function judgeOurs(instance: Instance, known: KnownWorkers, recorded: Worker | undefined): Finding {
  const orphan = (because: Reason): Finding => ({ kind: 'orphan', instance, because })
  const workerId = instance.tags[TAG.workerId]
  const worker = workerId === undefined ? undefined : known.byId.get(workerId)
  const ended = ({ name }: Worker) => orphan(reason('worker_terminated', { worker: name, state: instance.state }))
  if (recorded !== undefined) return ended(recorded)
  if (worker === undefined) return orphan(reason('worker_unknown', { worker_id: workerId ?? null }))
  const { name, status, ec2_instance_id } = worker
  if (status === 'TERMINATED') return ended(worker)
  if (ec2_instance_id !== null)
    return orphan(reason('worker_has_other_instance', { worker: name, instance_id: ec2_instance_id }))
  if (!awaitsMachine(worker)) return orphan(reason('worker_not_launching', { worker: name, status }))
  return { kind: 'wake', instance, workerId: worker.id }
}

/** Whether the worker searches for a machine with its tag, now or before its next launch. Other workers would never adopt one. */
const awaitsMachine = ({ status, desired_status, launch }: Worker): boolean =>
  launch?.state === 'open' || (status === 'PENDING' && desired_status === 'RUNNING')

/** The status of an imported worker: the state of its machine, which is also its desired status. */
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

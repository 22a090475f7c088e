import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'

/** Node limit without a license. */
const FREE_NODES = 5
const ENTERPRISE_NODES = 20
const ON_THE_WAY: readonly Worker['status'][] = ['PENDING', 'PROVISIONING', 'STARTING']

/**
 * Scale-up never creates more workers than packing the pending sessions needs: neither in one batch, nor by a second batch while
 * the first is starting. Workers of one batch have the same creation time.
 */
export function overbuying(
  worker: Worker,
  workers: Iterable<Worker>,
  sessions: ReadonlyMap<string, LabletSession>,
): string[] {
  if (worker.origin !== 'SCALE_UP' || worker.wanted_by.length === 0) return []
  const others = [...workers].filter(
    each => each.id !== worker.id && placeOf(each) === placeOf(worker) && each.origin === 'SCALE_UP' && isNew(each),
  )
  const rivals = others.filter(({ created_at, wanted_by }) => created_at !== worker.created_at && wanted_by.length > 0)
  const count = 1 + others.filter(({ created_at }) => created_at === worker.created_at).length
  const most = neededAtMost(worker, sessions)
  return [
    ...(rivals.length > 0 ? [`${worker.name} is created while ${rivals.map(({ name }) => name)} are starting`] : []),
    ...(count > most ? [`${count} ${placeOf(worker)} are created for sessions that need at most ${most}`] : []),
  ]
}

const placeOf = ({ template_name, aws_region }: Worker): string => `${template_name}/${aws_region}`
/** Starting since its creation: a worker that failed or was stopped in between may be replaced. */
const isNew = ({ desired_status, state_history }: Worker): boolean =>
  desired_status === 'RUNNING' && state_history.every(({ to }) => ON_THE_WAY.includes(to))

/**
 * The worst case of first fit, from sizes alone. Of any two machines the second holds what did not fit into the first, so both
 * together hold more than one machine of some resource: n machines hold more than n/2 - 1 in total.
 * Ports are ignored: a worker has thousands.
 */
function neededAtMost({ wanted_by, capacity, license }: Worker, sessions: ReadonlyMap<string, LabletSession>): number {
  const { declared } = capacity
  const wanted = wanted_by.flatMap(id => sessions.get(id)?.needs ?? [])
  if (declared === null || wanted.length < wanted_by.length) return Number.POSITIVE_INFINITY
  const nodes = Math.min(license.product === null ? FREE_NODES : ENTERPRISE_NODES, declared.max_nodes)
  const shares = [
    sum(wanted.map(each => each.cpu_cores)) / declared.cpu_cores,
    sum(wanted.map(each => each.memory_gb)) / declared.memory_gb,
    sum(wanted.map(each => each.storage_gb)) / (declared.storage_gb ?? Number.POSITIVE_INFINITY),
    sum(wanted.map(each => each.node_count)) / nodes,
  ]
  if (shares.every(share => share <= 1)) return 1
  return Math.min(wanted.length, Math.floor(2 * sum(shares)) + 1)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

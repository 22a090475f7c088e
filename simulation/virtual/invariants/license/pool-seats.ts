import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { LicensePool } from '@lcm/domain/license/license-pool'
import { holdsSeat } from '@lcm/domain/license/seat-decisions'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Collection } from '@lcm/store/store'

export interface PoolSeatParts {
  readonly cloud: Pick<SimModel, 'cml' | 'machine'>
  readonly latest: ReadonlyMap<string, Worker>
  readonly pools: Collection<LicensePool>
}

const POOLS_MAX = 100

/**
 * No seat is held twice: a pool counts every worker that holds a seat, never more of them than it has, and the Smart Account
 * knows no worker that gave its seat up.
 */
export async function doubleLicenses(parts: PoolSeatParts): Promise<readonly string[]> {
  const before = new Map(parts.latest)
  const pools = await parts.pools.list({ limit: POOLS_MAX })
  // A worker that was changed meanwhile may have given up the seat that it had when the pool was read.
  const unchanged = [...parts.latest.values()].filter(worker => before.get(worker.id)?.version === worker.version)
  return pools.flatMap(pool => [...countedSeats(pool, unchanged), ...registeredSeats(pool, parts)])
}

function countedSeats({ product, seats, taken }: LicensePool, workers: readonly Worker[]): string[] {
  const used = Object.keys(taken).length
  const uncounted = workers.filter(each => each.license.product === product && holdsSeat(each) && !(each.id in taken))
  return [
    ...(used > seats ? [`${used} license seats of ${product} are in use, and it has ${seats}`] : []),
    ...uncounted.map(({ name }) => `${name} holds a license seat that ${product} does not count`),
  ]
}

function registeredSeats({ product, seats }: LicensePool, { cloud, latest }: PoolSeatParts): string[] {
  const machines = new Map([...latest.values()].map(worker => [worker.ec2_instance_id, worker]))
  const registered = cloud.cml.smartAccount().flatMap(({ instance_id, left_behind }) => {
    const worker = machines.get(instance_id)
    const state = cloud.machine(instance_id)?.state
    const isCounted = !left_behind && state !== undefined && state !== 'terminated' && state !== 'shutting-down'
    return isCounted && worker?.license.product === product && worker.license.seat !== 'none' ? [worker] : []
  })
  const without = registered.filter(worker => !holdsSeat(worker))
  return [
    ...(registered.length > seats ? [`${registered.length} workers are registered with ${seats} license seats`] : []),
    ...without.map(({ name }) => `${name} is registered without a license seat`),
  ]
}

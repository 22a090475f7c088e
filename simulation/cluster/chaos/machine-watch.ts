import type { Client } from '@lcm/client/client'
import type { WorkerView } from '@lcm/contract/worker'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { systemClock } from '@lcm/runtime/clock'
import type { ControllerCluster } from '../clusters/controller-cluster.ts'
import { eventually } from '../failover-run.ts'
import { GONE } from './settled-state-rules.ts'

const POLL_MS = 250
/** A machine that EC2 does not list counts as terminated five minutes after its launch at the earliest. */
const REST_MS_MAX = 400_000

/** Polls the simulated cloud directly, without LCM. */
export interface MachineWatch {
  /** Stops, and returns the workers that ever had two machines at once. */
  stop(): Promise<readonly string[]>
}

export function watchMachines(cluster: ControllerCluster): MachineWatch {
  const stopping = new AbortController()
  const twice = new Set<string>()
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      // The cloud itself may be down.
      const machines = await cluster.machines().catch(() => [])
      const owners = machines.filter(({ state }) => !GONE.has(state)).map(({ tags }) => tags[TAG.workerId] ?? '')
      for (const [index, owner] of owners.entries()) if (owners.indexOf(owner) !== index) twice.add(owner)
      await systemClock.sleep(POLL_MS, stopping.signal)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await ended
      return [...twice].map(owner => `worker ${owner} had two machines`)
    },
  }
}

const isAtRest = ({ status, desired_status }: WorkerView): boolean => status === desired_status

/** Machines without a worker and workers without a machine, once every worker has its desired status. */
export async function orphanedMachines(cluster: ControllerCluster, client: Client): Promise<readonly string[]> {
  const all = async () => (await client.call('listWorkers', { query: { limit: 1000, include_terminated: true } })).items
  const atRest = async () => ((await all()).every(isAtRest) ? true : null)
  await eventually('all workers in their desired status', atRest, POLL_MS, REST_MS_MAX).catch(() => undefined)
  const workers = await all()
  const live = (await cluster.machines()).filter(({ state }) => !GONE.has(state)).map(each => each.instance_id)
  const owned = workers.filter(({ status }) => status !== 'TERMINATED').map(each => each.ec2_instance_id ?? each.id)
  return [
    ...workers.filter(each => !isAtRest(each)).map(({ name, status }) => `${name} stays ${status}`),
    ...live.filter(id => !owned.includes(id)).map(id => `machine ${id} has no worker`),
    ...owned.filter(id => !live.includes(id)).map(id => `machine ${id} is gone`),
  ]
}

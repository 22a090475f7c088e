import type { Client } from '@lcm/client/client'
import type { WorkerView } from '@lcm/contract/worker'

/** Follows the events until the condition holds for the workers. Only the timeout of the test limits it. */
export async function followWorkers(
  client: Client,
  until: (workers: readonly WorkerView[]) => boolean,
): Promise<readonly WorkerView[]> {
  const { items, revision } = await client.call('listWorkers', { query: { include_terminated: true } })
  const workers = new Map(items.map(worker => [worker.id, worker]))
  if (until(items)) return items
  for await (const { event } of client.events({ after: revision, signal: new AbortController().signal })) {
    if (event.type === 'worker.updated' || event.type === 'worker.created') workers.set(event.id, event.data)
    if (until([...workers.values()])) break
  }
  return [...workers.values()]
}

/** Fields that no crash and no restart may change. */
export const durableFields = (worker: WorkerView) => {
  const { id, name, status, ec2_instance_id, https_endpoint, launch, state_history } = worker
  return { id, name, status, ec2_instance_id, https_endpoint, launch, state_history }
}

import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Listing } from '../watch-list.ts'

/** Whether a worker lost its machine without a request to terminate it. */
export const isLost = ({ status, desired_status }: Worker): boolean =>
  status === 'TERMINATED' && desired_status !== 'TERMINATED'

/** All workers that are not TERMINATED, then lost workers without a successor of the same name. */
export async function readLivingAndLost(client: Client, signal: AbortSignal): Promise<Listing<Worker>> {
  const { items, revision } = await readList(query => client.call('listWorkers', { query, signal }))
  const ended = (desired_status: 'RUNNING' | 'STOPPED') =>
    readList(page =>
      client.call('listWorkers', { query: { ...page, status: 'TERMINATED' as const, desired_status }, signal }),
    )
  const [running, stopped] = await Promise.all([ended('RUNNING'), ended('STOPPED')])
  const ids = new Set(items.map(({ id }) => id))
  const names = new Set(items.map(({ name }) => name))
  const lost = [...running.items, ...stopped.items].filter(({ id, name }) => !ids.has(id) && !names.has(name))
  return { items: [...items, ...lost], revision }
}

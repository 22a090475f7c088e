import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Listing } from '../watch-list.ts'

/** Nobody asked for its end: its machine went away by itself, or by somebody else. */
export const isLost = ({ status, desired_status }: Worker): boolean =>
  status === 'TERMINATED' && desired_status !== 'TERMINATED'

/** All workers that live, then those that are lost and have no successor of their name. */
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

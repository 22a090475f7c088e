import { ApiError, type Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { EventEnvelope } from '@lcm/contract/events'
import type { Worker } from '@lcm/domain/worker/worker'

/** Workers by id. Unknown or hidden ones are shown by id. */
export interface WorkerNames {
  of(id: string): string
  /** Null for a worker that is unknown or hidden. */
  find(id: string): Worker | null
  /** Updates workers from their events. */
  learn(event: EventEnvelope): void
}

export const BY_ID: WorkerNames = { of: id => id, find: () => null, learn: () => undefined }

export async function readWorkerNames(client: Client, signal: AbortSignal): Promise<WorkerNames> {
  const workers = new Map<string, Worker>()
  const query = { include_terminated: true }
  try {
    const { items } = await readList(page => client.call('listWorkers', { query: { ...page, ...query }, signal }))
    for (const worker of items) workers.set(worker.id, worker)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  }
  return {
    of: id => workers.get(id)?.name ?? id,
    find: id => workers.get(id) ?? null,
    learn(event) {
      if (event.type === 'worker.created' || event.type === 'worker.updated') workers.set(event.id, event.data)
    },
  }
}

/** Reads names only for `--wait`, where progress is shown. */
export const namesFor = async (
  { wait = false }: { readonly wait?: boolean },
  client: Client,
  signal: AbortSignal,
): Promise<WorkerNames> => (wait ? readWorkerNames(client, signal) : BY_ID)

import { ApiError, type Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { EventEnvelope } from '@lcm/contract/events'

/** Worker names by id. Unknown or hidden workers are shown by id. */
export interface WorkerNames {
  of(id: string): string
  /** Updates names from worker events. */
  learn(event: EventEnvelope): void
}

export const BY_ID: WorkerNames = { of: id => id, learn: () => undefined }

export async function readWorkerNames(client: Client, signal: AbortSignal): Promise<WorkerNames> {
  const names = new Map<string, string>()
  const query = { include_terminated: true }
  try {
    const { items } = await readList(page => client.call('listWorkers', { query: { ...page, ...query }, signal }))
    for (const { id, name } of items) names.set(id, name)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  }
  return {
    of: id => names.get(id) ?? id,
    learn(event) {
      if (event.type === 'worker.created' || event.type === 'worker.updated') names.set(event.id, event.data.name)
    },
  }
}

/** Reads names only for `--wait`, where progress is shown. */
export const namesFor = async (
  { wait = false }: { readonly wait?: boolean },
  client: Client,
  signal: AbortSignal,
): Promise<WorkerNames> => (wait ? readWorkerNames(client, signal) : BY_ID)

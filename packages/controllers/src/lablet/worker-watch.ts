import type { Client } from '@lcm/client/client'
import { CHANGE_KEYS } from '@lcm/contract/change-keys'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import { type Trigger, type TriggerContext, watch } from '@lcm/runtime'
import { fetchWorker } from './labs/lab-records.ts'

const WORKER_KEYS = CHANGE_KEYS.workers

/**
 * Looks at the sessions of a worker as soon as that worker does not run any more: while it is away they look often, and find
 * soon that it is back. What this misses is found by the poll.
 */
export function workerWatch<R>({ client, changeKeys }: { client: Client; changeKeys: ChangeKeys }): Trigger<R> {
  const watched = watch<ChangeHint>({
    name: 'worker-watch',
    source: changeKeys.source(WORKER_KEYS),
    parseKey: key => (key.startsWith(WORKER_KEYS) ? key.slice(WORKER_KEYS.length) : null),
    wakes: ({ status }) => status !== 'RUNNING',
  })
  return {
    ...watched,
    run(context) {
      const add = (id: string) => void addSessionsOf(client, id, context)
      return watched.run({ ...context, add, forget: () => undefined })
    },
  }
}

async function addSessionsOf<R>(client: Client, id: string, { add, signal, logger }: TriggerContext<R>): Promise<void> {
  try {
    const worker = await fetchWorker(client, id, signal)
    for (const session of Object.keys(worker?.reservations ?? {})) add(session, 'worker changed')
  } catch (error) {
    logger.debug({ worker: id, err: error }, 'the sessions of a worker are left to the poll')
  }
}

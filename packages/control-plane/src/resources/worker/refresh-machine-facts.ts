import { isDeepStrictEqual } from 'node:util'
import { withMachineFacts } from '@lcm/domain/fleet/machine-facts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem } from '../../system-actor.ts'
import { changeWorker } from './change-worker.ts'
import { listAllWorkers } from './queries.ts'

/**
 * Gives every worker the sizes and prices that this version and the regions file have, so that a new table, another file and
 * records of earlier versions take effect with the next start. What was counted before keeps its price.
 */
export async function refreshMachineFacts(api: Api): Promise<void> {
  const facts = api.config.regionFacts
  const isStale = (worker: Worker) => !isDeepStrictEqual(worker, withMachineFacts(worker, facts))
  for (const worker of (await listAllWorkers(api)).filter(({ status }) => status !== 'TERMINATED').filter(isStale))
    await changeWorker(api, asSystem(worker.id), current =>
      isStale(current) ? { worker: withMachineFacts(current, facts) } : null,
    )
}

import { toInstant } from '@lcm/domain/instant'
import type { Api } from '../../http/api.ts'
import { listAll } from '../list-documents.ts'
import { labCountSeries } from '../worker/worker-view.ts'

/** Records how many labs are on a worker now. */
export async function countLabs(api: Api, workerId: string): Promise<void> {
  const labs = await listAll(api.labs, { where: { worker_id: workerId, is_gone: 'no' } })
  const sample = { series: labCountSeries(workerId), at: toInstant(api.clock.now()), body: { count: labs.length } }
  await api.store.series.append([sample])
}

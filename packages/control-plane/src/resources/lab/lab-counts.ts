import { toInstant } from '@lcm/domain/instant'
import type { Sample } from '@lcm/store/store'
import type { Api } from '../../http/api.ts'
import { listAll } from '../list-documents.ts'

/** How many labs are on a worker is no part of it: it is kept as a number over time, which lists can join in one query. */
export const labCountSeries = (workerId: string): string => `labs:${workerId}`

export async function countLabs(api: Api, workerId: string): Promise<void> {
  const labs = await listAll(api.labs, { where: { worker_id: workerId, is_gone: 'no' } })
  const sample = { series: labCountSeries(workerId), at: toInstant(api.clock.now()), body: { count: labs.length } }
  await api.store.series.append([sample])
}

/** Null when nobody has looked lately. */
export const labCountOf = (sample: Sample | undefined): number | null =>
  sample !== undefined && 'count' in sample.body ? Number(sample.body.count) : null

import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerSample } from '@lcm/contract/worker-bodies'
import type { Sample } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { findWorker } from './workers.ts'

/** Samples are parsed when they come in. */
export const sampleOf = (sample: Sample): WorkerSample => sample.body as WorkerSample

/** The cursor is the instant of the last sample: there is one per instant. */
export async function workerMetrics(
  api: Api,
  id: string,
  query: QueryOf<'getWorkerMetrics'>,
): Promise<AnswerOf<'getWorkerMetrics'>> {
  await findWorker(api, id)
  const revision = await api.feed.position()
  const to = query.cursor ?? query.to
  const found = await api.store.series.range({
    series: `worker:${id}`,
    ...(query.from === undefined ? {} : { from: query.from }),
    ...(to === undefined ? {} : { to }),
    limit: query.limit + 1,
  })
  const items = found.slice(0, query.limit).map(sampleOf)
  return { items, next_cursor: found.length > query.limit ? (items.at(-1)?.collected_at ?? null) : null, revision }
}

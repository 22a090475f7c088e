import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerSample } from '@lcm/contract/worker-bodies'
import { Instant } from '@lcm/domain/instant'
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
  const to = query.cursor === undefined ? query.to : placeOf(query.cursor)
  const found = await api.store.series.range({
    series: `worker:${id}`,
    ...(query.from === undefined ? {} : { from: query.from }),
    ...(to === undefined ? {} : { to }),
    limit: query.limit + 1,
  })
  const items = found.slice(0, query.limit).map(sampleOf)
  return { items, next_cursor: found.length > query.limit ? (items.at(-1)?.collected_at ?? null) : null, revision }
}

function placeOf(cursor: string): Instant {
  const place = Instant.safeParse(cursor)
  if (place.success) return place.data
  throw new ProblemError('validation_failed', 'query.cursor: not one of ours', [
    { path: 'query.cursor', message: 'not one of ours' },
  ])
}

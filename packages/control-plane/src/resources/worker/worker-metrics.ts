import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerSample } from '@lcm/contract/worker'
import { Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import { findWorker } from './queries.ts'
import { labCountOf, labCountSeries, sampleOf } from './worker-view.ts'

/** A sample belongs to no version of the worker and publishes no change. */
export async function reportMetrics(
  api: Api,
  { params, body }: Request<{ id: string }, unknown, BodyOf<'reportWorkerMetrics'>>,
): Promise<null> {
  const { id } = await findWorker(api, params.id)
  await api.store.series.append([{ series: `worker:${id}`, at: body.collected_at, body }])
  return null
}

/** The cursor is the instant of the last sample, which is unique. */
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
  const samples = found.slice(0, query.limit).map(sampleOf)
  const items = await withLabCounts(api, id, samples)
  return { items, next_cursor: found.length > query.limit ? (items.at(-1)?.collected_at ?? null) : null, revision }
}

/** Labs are counted more often than workers are measured, but not by much. */
const LAB_COUNTS_PER_SAMPLE_MAX = 10

/** Lab counts have their own times: a sample gets the newest count that is not newer. Both are sorted newest first. */
async function withLabCounts(
  api: Api,
  id: string,
  samples: readonly WorkerSample[],
): Promise<AnswerOf<'getWorkerMetrics'>['items']> {
  const [newest, oldest] = [samples[0]?.collected_at, samples.at(-1)?.collected_at]
  if (newest === undefined || oldest === undefined) return []
  const series = labCountSeries(id)
  const justAfter = (instant: Instant) => toInstant(toMs(instant) + 1)
  const [within, before] = await Promise.all([
    api.store.series.range({
      series,
      from: oldest,
      to: justAfter(newest),
      limit: samples.length * LAB_COUNTS_PER_SAMPLE_MAX,
    }),
    api.store.series.range({ series, to: oldest, limit: 1 }),
  ])
  const counts = [...within, ...before]
  let place = 0
  return samples.map(sample => {
    while (counts[place] !== undefined && (counts[place]?.at ?? '') > sample.collected_at) place += 1
    return { ...sample, labs_count: labCountOf(counts[place]) }
  })
}

function placeOf(cursor: string): Instant {
  const place = Instant.safeParse(cursor)
  if (place.success) return place.data
  throw new ProblemError('validation_failed', 'query.cursor: not one of ours', [
    { path: 'query.cursor', message: 'not one of ours' },
  ])
}

import type { Collection, Db } from 'mongodb'
import type { Sample, Series } from '../store.ts'
import { type Guard, isOnlyDuplicates } from './error-guard.ts'
import { indexedCollection } from './kind-registry.ts'
import type { StoredSample } from './stored-records.ts'

const INDEXES = [
  { name: 'series', key: { series: 1, at: -1 } },
  { name: 'age', key: { at: 1, series: 1 } },
] as const
/** Concurrent queries; more would starve others of connections. */
const CONCURRENT_QUERIES_MAX = 16
const APPEND_TRIES_MAX = 5

export function mongoSeries(db: Db, guard: Guard): Series {
  const samples = indexedCollection<StoredSample>(db, 'series', [...INDEXES])
  return {
    append: given => guard(async () => put(await samples(), given)),
    range: ({ series, from, to, limit }) =>
      guard(async () => {
        if (limit <= 0) return []
        const at = { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) }
        const filter = { series, ...(Object.keys(at).length === 0 ? {} : { at }) }
        const options = { sort: { at: -1 }, limit, batchSize: limit } as const
        return (await (await samples()).find(filter, options).toArray()).map(toSample)
      }),
    newest: series => guard(async () => newestOf(await samples(), series)),
    recent: (from, limit) =>
      guard(async () => {
        if (limit <= 0) return []
        const options = { sort: { at: 1, series: 1 }, limit, batchSize: limit } as const
        return (await (await samples()).find({ at: { $gte: from } }, options).toArray()).map(toSample)
      }),
    prune: (before, limit) =>
      guard(async () => {
        if (limit <= 0) return 0
        const all = await samples()
        const options = { projection: { _id: 1 }, sort: { at: 1, series: 1 }, limit, batchSize: limit } as const
        const old = await all.find({ at: { $lt: before } }, options).toArray()
        if (old.length === 0) return 0
        return (await all.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } })).deletedCount
      }),
    drop: series =>
      guard(async () => {
        await (await samples()).deleteMany({ series })
      }),
  }
}

async function put(samples: Collection<StoredSample>, given: readonly Sample[]): Promise<void> {
  if (given.length === 0) return
  const byId = new Map(given.map(sample => [`${sample.series}@${sample.at}`, sample]))
  const writes = [...byId].map(([_id, { series, at, body }]) => ({
    replaceOne: { filter: { _id }, replacement: { series, at, body: JSON.stringify(body) }, upsert: true },
  }))
  for (let tries = 1; ; tries += 1) {
    try {
      await samples.bulkWrite(writes, { ordered: false })
      return
    } catch (error) {
      // Two processes that insert the same sample: one of them may get a duplicate error.
      if (!isOnlyDuplicates(error) || tries === APPEND_TRIES_MAX) throw error
    }
  }
}

/** One index lookup per series, however long the series are. */
async function newestOf(samples: Collection<StoredSample>, series: readonly string[]): Promise<Map<string, Sample>> {
  const newest = new Map<string, Sample>()
  for (let start = 0; start < series.length; start += CONCURRENT_QUERIES_MAX) {
    const asked = series.slice(start, start + CONCURRENT_QUERIES_MAX)
    const found = await Promise.all(asked.map(each => samples.findOne({ series: each }, { sort: { at: -1 } })))
    for (const sample of found) if (sample !== null) newest.set(sample.series, toSample(sample))
  }
  return newest
}

const toSample = ({ series, at, body }: StoredSample): Sample => ({ series, at, body: JSON.parse(body) })

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Sample, Series } from '../store.ts'
import type { GroupCommit } from './group-commit.ts'

/**
 * Newest samples cached in memory, because they are read far more often than written. Two for each of 20,000 workers.
 */
const KNOWN_MAX = 40_000
/** One query for all series takes half the time of one query each. */
const NEWEST = `SELECT series, at, body FROM json_each(?) AS wanted CROSS JOIN samples
  ON series = wanted.value AND at = (SELECT max(at) FROM samples WHERE series = wanted.value)`

export function sqliteSeries(db: DatabaseSyncInstance, batch: GroupCommit): Series {
  const insert = db.prepare('INSERT OR REPLACE INTO samples (series, at, body) VALUES (?, ?, ?)')
  const range = db.prepare(
    'SELECT series, at, body FROM samples WHERE series = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT ?',
  )
  const recent = db.prepare('SELECT series, at, body FROM samples WHERE at >= ? ORDER BY at, series LIMIT ?')
  const old = 'SELECT series, at FROM samples WHERE at < ? ORDER BY at LIMIT ?'
  const prune = db.prepare(`DELETE FROM samples WHERE (series, at) IN (${old})`)
  const drop = db.prepare('DELETE FROM samples WHERE series = ?')
  const newest = newestOf(db)
  return {
    async append(samples) {
      batch.commitRelaxed(() => {
        for (const { series, at, body } of samples) {
          newest.forget(series)
          insert.run(series, at, JSON.stringify(body))
        }
      })
    },
    range: async ({ series, from = '', to = AFTER_ALL, limit }) => range.all(series, from, to, limit).map(toSample),
    newest: async series => newest.read(series),
    recent: async (from, limit) => recent.all(from, limit).map(toSample),
    prune: (before, limit) =>
      batch.commit(() => {
        newest.forgetAll()
        return Number(prune.run(before, limit).changes)
      }),
    drop: series =>
      batch.commit(() => {
        newest.forget(series)
        drop.run(series)
      }),
  }
}

/** No other process writes to the file, so a cached sample stays valid until it is written here. */
function newestOf(db: DatabaseSyncInstance) {
  const last = db.prepare(NEWEST)
  const known = new Map<string, Sample | null>()

  function load(series: readonly string[]): void {
    if (series.length === 0) return
    const samples = last.all(JSON.stringify(series)).map(toSample)
    for (const each of series) known.set(each, null)
    for (const sample of samples) known.set(sample.series, sample)
  }

  /** Evicts the oldest, and no more than needed: clearing the cache would make pages slow now and then. */
  function evictOldest(): void {
    for (const oldest of known.keys()) {
      if (known.size <= KNOWN_MAX) return
      known.delete(oldest)
    }
  }

  return {
    read(series: readonly string[]): Map<string, Sample> {
      load(series.filter(each => !known.has(each)))
      const found = new Map<string, Sample>()
      for (const each of series) {
        const sample = known.get(each)
        if (sample) found.set(each, sample)
      }
      evictOldest()
      return found
    },
    forget: (series: string) => void known.delete(series),
    forgetAll: () => known.clear(),
  }
}

/** Sorts after every timestamp. */
const AFTER_ALL = '~'

const toSample = (row: Record<string, unknown>): Sample => ({
  series: String(row.series),
  at: String(row.at),
  body: JSON.parse(String(row.body)),
})

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Sample, Series } from '../store.ts'
import type { Batch } from './batch.ts'

export function sqliteSeries(db: DatabaseSyncInstance, batch: Batch): Series {
  const insert = db.prepare('INSERT OR REPLACE INTO samples (series, at, body) VALUES (?, ?, ?)')
  const last = db.prepare('SELECT series, at, body FROM samples WHERE series = ? ORDER BY at DESC LIMIT 1')
  const range = db.prepare(
    'SELECT series, at, body FROM samples WHERE series = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT ?',
  )
  const recent = db.prepare('SELECT series, at, body FROM samples WHERE at >= ? ORDER BY at, series LIMIT ?')
  const old = 'SELECT series, at FROM samples WHERE at < ? ORDER BY at LIMIT ?'
  const prune = db.prepare(`DELETE FROM samples WHERE (series, at) IN (${old})`)
  const drop = db.prepare('DELETE FROM samples WHERE series = ?')
  return {
    async append(samples) {
      batch.relaxed(() => {
        for (const { series, at, body } of samples) insert.run(series, at, JSON.stringify(body))
      })
    },
    range: async ({ series, from = '', to = AFTER_ALL, limit }) => range.all(series, from, to, limit).map(toSample),
    async newest(series) {
      const found = series.flatMap(each => last.all(each).map(toSample))
      return new Map(found.map(sample => [sample.series, sample]))
    },
    recent: async (from, limit) => recent.all(from, limit).map(toSample),
    prune: (before, limit) => batch.commit(() => Number(prune.run(before, limit).changes)),
    drop: series => batch.commit(() => void drop.run(series)),
  }
}

/** Sorts after every instant. */
const AFTER_ALL = '~'

const toSample = (row: Record<string, unknown>): Sample => ({
  series: String(row.series),
  at: String(row.at),
  body: JSON.parse(String(row.body)),
})

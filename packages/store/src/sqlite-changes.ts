import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Change, ChangeFeed } from './store.ts'

/** Deleted documents are remembered this many deletions long; who was away for longer has to read everything again. */
export const TOMBSTONES_MAX = 10_000

export interface SqliteChangeFeed extends ChangeFeed {
  /** Called inside the transaction that makes the change. */
  record(change: Omit<Change, 'position'>): void
}

/** One row per document, moved to the end by each change: the feed stays as small as the store and never has a gap. */
export function sqliteChangeFeed(db: DatabaseSyncInstance): SqliteChangeFeed {
  const append = db.prepare('INSERT OR REPLACE INTO changes (kind, id, version, deleted) VALUES (?, ?, ?, ?)')
  const newest = db.prepare("SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'changes'")
  const after = db.prepare('SELECT seq, kind, id, version, deleted FROM changes WHERE seq > ? ORDER BY seq LIMIT ?')
  const tooOld = db.prepare('SELECT seq FROM changes WHERE deleted = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?')
  const prune = db.prepare('DELETE FROM changes WHERE deleted = 1 AND seq <= ?')
  const remember = db.prepare('UPDATE forgotten SET seq = ?')
  const forgotten = db.prepare('SELECT seq FROM forgotten')
  const listeners = new Set<() => void>()

  function forgetOldTombstones(): void {
    const seq = tooOld.get(TOMBSTONES_MAX)?.seq
    if (typeof seq !== 'number') return
    prune.run(seq)
    remember.run(seq)
  }

  return {
    record({ kind, id, version, deleted }) {
      append.run(kind, id, version, deleted ? 1 : 0)
      if (deleted) forgetOldTombstones()
      for (const wake of listeners) queueMicrotask(wake)
    },
    position: async () => String(newest.get()?.seq ?? 0),
    async since(position, limit) {
      const seq = /^\d{1,15}$/.test(position) ? Number(position) : Number.NaN
      const known = seq >= Number(forgotten.get()?.seq) && seq <= Number(newest.get()?.seq)
      return known ? { known, changes: after.all(seq, limit).map(toChange) } : { known }
    },
    onCommit(wake) {
      listeners.add(wake)
      return () => listeners.delete(wake)
    },
  }
}

const toChange = (row: Record<string, unknown>): Change => ({
  kind: String(row.kind),
  id: String(row.id),
  version: Number(row.version),
  deleted: row.deleted === 1,
  position: String(row.seq),
})

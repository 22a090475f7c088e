import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Announcements, Change, ChangeFeed, PositionedChange } from '../store.ts'
import type { GroupCommit } from './group-commit.ts'

/** Number of deletions that the feed remembers. Readers that were away for longer must read everything again. */
export const TOMBSTONES_MAX = 10_000

/**
 * Upper bound on changes per millisecond over the life of a history. Keeps positions below 10^15 until the year 2286.
 */
const SEQ_PER_MS = 100
/** Upper bound on changes of a lost history, in case the clock is wrong. */
const SEQ_LOST_MAX = 1_000_000_000

/**
 * For a store that was restored to an earlier state: readers of the lost history must read everything again. The new
 * history starts at the clock's time, past every position that an earlier one can have reached.
 */
export function startNewHistory(db: DatabaseSyncInstance, nowMs: number): void {
  const newest = Number(db.prepare(NEWEST).get()?.seq)
  const seq = Math.max(nowMs * SEQ_PER_MS, newest + SEQ_LOST_MAX)
  db.exec(`
    BEGIN;
    DELETE FROM sqlite_sequence WHERE name = 'changes';
    INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ${seq});
    UPDATE forgotten SET seq = ${seq};
    COMMIT`)
}

export interface SqliteChanges {
  readonly feed: ChangeFeed
  readonly announcements: Announcements
  /** Called inside the transaction that makes the change. */
  record(change: Change): void
}

const NEWEST = "SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'changes'"

/** One row per document, moved to the end by each change: the feed stays as small as the store and never has a gap. */
export function sqliteChanges(db: DatabaseSyncInstance, batch: GroupCommit): SqliteChanges {
  const append = db.prepare('INSERT OR REPLACE INTO changes (kind, id, version, deleted, told) VALUES (?, ?, ?, ?, 0)')
  const listeners = new Set<() => void>()
  const forgetOldTombstones = tombstoneKeeper(db)
  const announcements = announcementsOf(db, batch)
  const onCommit = (wake: () => void) => {
    listeners.add(wake)
    return () => listeners.delete(wake)
  }
  return {
    record({ kind, id, version, deleted }) {
      append.run(kind, id, version, deleted ? 1 : 0)
      if (deleted) forgetOldTombstones()
      announcements.added()
      for (const wake of listeners) queueMicrotask(wake)
    },
    feed: { ...feedOf(db), onCommit },
    announcements: { pending: announcements.pending, done: announcements.done, onCommit },
  }
}

function feedOf(db: DatabaseSyncInstance): Omit<ChangeFeed, 'onCommit'> {
  const newest = db.prepare(NEWEST)
  const after = db.prepare('SELECT seq, kind, id, version, deleted FROM changes WHERE seq > ? ORDER BY seq LIMIT ?')
  const forgotten = db.prepare('SELECT seq FROM forgotten')
  return {
    position: async () => String(newest.get()?.seq ?? 0),
    async since(position, limit) {
      const seq = /^\d{1,15}$/.test(position) ? Number(position) : Number.NaN
      const newestSeq = Number(newest.get()?.seq)
      if (!(seq >= Number(forgotten.get()?.seq) && seq <= newestSeq)) return { known: false }
      return { known: true, changes: seq === newestSeq ? [] : after.all(seq, limit).map(toPositioned) }
    },
  }
}

function announcementsOf(db: DatabaseSyncInstance, batch: GroupCommit) {
  const unpublished = db.prepare('SELECT kind, id, version, deleted FROM changes WHERE told = 0 ORDER BY seq LIMIT ?')
  const markPublished = db.prepare('UPDATE changes SET told = 1 WHERE kind = ? AND id = ? AND version = ?')
  /** A data folder has one process, so nothing is pending from an empty answer until this process adds a change. */
  let mayBePending = true
  return {
    added() {
      mayBePending = true
    },
    async pending(limit: number) {
      if (!mayBePending) return []
      const rows = unpublished.all(limit)
      mayBePending = rows.length > 0
      return rows.map(toChange)
    },
    async done(changes: readonly Change[]) {
      if (changes.length === 0) return
      batch.commitRelaxed(() => {
        for (const { kind, id, version } of changes) markPublished.run(kind, id, version)
      })
    },
  }
}

function tombstoneKeeper(db: DatabaseSyncInstance): () => void {
  const tooOld = db.prepare('SELECT seq FROM changes WHERE deleted = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?')
  const prune = db.prepare('DELETE FROM changes WHERE deleted = 1 AND seq <= ?')
  // Never backward: a tombstone may be older than the current history.
  const remember = db.prepare('UPDATE forgotten SET seq = max(seq, ?)')
  return () => {
    const seq = tooOld.get(TOMBSTONES_MAX)?.seq
    if (typeof seq !== 'number') return
    prune.run(seq)
    remember.run(seq)
  }
}

const toChange = (row: Record<string, unknown>): Change => ({
  kind: String(row.kind),
  id: String(row.id),
  version: Number(row.version),
  deleted: row.deleted === 1,
})

const toPositioned = (row: Record<string, unknown>): PositionedChange => ({
  ...toChange(row),
  position: String(row.seq),
})

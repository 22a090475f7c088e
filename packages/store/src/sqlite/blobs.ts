import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { chunksOf, digestOf } from '../blob-chunks.ts'
import type { Blobs } from '../store.ts'
import type { GroupCommit } from './group-commit.ts'

/**
 * Each chunk has a commit of its own, and no two chunks share one, so that other writes wait for one chunk at most. The last chunk
 * makes the blob readable.
 */
export function sqliteBlobs(db: DatabaseSyncInstance, batch: GroupCommit): Blobs {
  const head = db.prepare('SELECT sha256 FROM blobs WHERE id = ?')
  const addHead = db.prepare('INSERT INTO blobs (id, sha256, bytes) VALUES (?, ?, ?)')
  const addChunk = db.prepare('INSERT OR REPLACE INTO blob_chunks (id, sha256, n, content) VALUES (?, ?, ?, ?)')
  const chunks = db.prepare('SELECT content FROM blob_chunks WHERE id = ? AND sha256 = ? ORDER BY n')
  const ids = db.prepare('SELECT DISTINCT id FROM blob_chunks WHERE id > ? ORDER BY id LIMIT ?')
  const total = db.prepare('SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM blobs')
  const dropHead = db.prepare('DELETE FROM blobs WHERE id = ?')
  const dropChunks = db.prepare('DELETE FROM blob_chunks WHERE id = ?')
  const dropOthers = db.prepare('DELETE FROM blob_chunks WHERE id = ? AND sha256 <> ?')
  const digestIn = (id: string): string | null => {
    const row = head.get(id)
    return row === undefined ? null : String(row.sha256)
  }
  let previous: Promise<unknown> = Promise.resolve()
  function commitChunk<T>(work: () => T): Promise<T> {
    const mine = previous.then(() => batch.commit(work))
    previous = mine.catch(() => undefined)
    return mine
  }
  return {
    async write(id, content) {
      const sha256 = digestOf(content)
      const known = digestIn(id)
      if (known !== null) return known === sha256
      const all = chunksOf(content)
      for (const [n, chunk] of all.slice(0, -1).entries()) await commitChunk(() => addChunk.run(id, sha256, n, chunk))
      return commitChunk(() => {
        const other = digestIn(id)
        if (other === null) {
          addChunk.run(id, sha256, all.length - 1, all.at(-1) ?? content)
          addHead.run(id, sha256, content.length)
        } else dropOthers.run(id, other)
        return (other ?? sha256) === sha256
      })
    },
    async read(id) {
      const sha256 = digestIn(id)
      if (sha256 === null) return null
      return Buffer.concat(
        chunks.all(id, sha256).flatMap(({ content }) => (content instanceof Uint8Array ? [content] : [])),
      )
    },
    remove: id =>
      batch.commit(() => {
        dropHead.run(id)
        dropChunks.run(id)
      }),
    ids: async ({ after = '', limit }) => ids.all(after, limit).map(({ id }) => String(id)),
    async total() {
      const row = total.get()
      return { count: Number(row?.count), bytes: Number(row?.bytes) }
    },
  }
}

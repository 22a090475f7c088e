import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Document, Kind } from '../store.ts'
import type { Batch } from './batch.ts'

/** Keeps what documents can be found by beside them. A file from before a kind had facets gets them now. */
export function sqliteFacets<T extends Document>(db: DatabaseSyncInstance, kind: Kind<T>, batch: Batch) {
  const of = db.prepare('SELECT name, value FROM facets WHERE kind = ? AND id = ?')
  const add = db.prepare('INSERT INTO facets (kind, name, value, id) VALUES (?, ?, ?, ?)')
  const drop = db.prepare('DELETE FROM facets WHERE kind = ? AND name = ? AND value = ? AND id = ?')

  /** Most writes change one facet of many, so only the difference is written. */
  function put(id: string, document: T | null): void {
    if (!kind.facets) return
    const wanted = new Map(document === null ? [] : Object.entries(kind.facets(document)))
    for (const row of of.all(kind.name, id)) {
      const [name, value] = [String(row.name), String(row.value)]
      if (wanted.get(name) === value) wanted.delete(name)
      else drop.run(kind.name, name, value, id)
    }
    for (const [name, value] of wanted) add.run(kind.name, name, value, id)
  }

  function putAll(): void {
    const rows = db.prepare('SELECT id, body FROM documents WHERE kind = ?').all(kind.name)
    for (const row of rows) put(String(row.id), kind.parse(JSON.parse(String(row.body))))
    db.prepare('INSERT INTO faceted (kind) VALUES (?)').run(kind.name)
  }

  if (db.prepare('SELECT 1 FROM faceted WHERE kind = ?').get(kind.name) === undefined) batch.relaxed(putAll)
  return { put }
}

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { type AnyKind, StoreError, type StoreSchema } from '../store.ts'
import { indexed, upgraded } from '../upgrade-one-document.ts'

/** Number of the schema that the documents have; 0 in files from before there was one. */
export function documentSchema(db: DatabaseSyncInstance): number {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'document_schema'").get()
  return known === undefined ? 0 : Number(db.prepare('SELECT number FROM document_schema').get()?.number)
}

/** Upgrades all documents and rebuilds their indexes. Called inside a transaction. Versions stay: no resource has changed. */
export function upgradeDocuments(db: DatabaseSyncInstance, schema: StoreSchema): void {
  const from = documentSchema(db)
  if (from >= schema.upgrades.length) return
  if (db.prepare('SELECT 1 FROM documents LIMIT 1').get() !== undefined) schema.onUpgrade?.(from)
  for (const kind of schema.kinds) upgradeKind(db, { kind, from }, schema)
  db.prepare('UPDATE document_schema SET number = ?').run(schema.upgrades.length)
}

function upgradeKind(
  db: DatabaseSyncInstance,
  { kind, from }: { kind: AnyKind; from: number },
  schema: StoreSchema,
): void {
  for (const index of ['facets', 'unique_values']) db.prepare(`DELETE FROM ${index} WHERE kind = ?`).run(kind.name)
  const read = db.prepare('SELECT body FROM documents WHERE kind = ? AND id = ?')
  const write = db.prepare('UPDATE documents SET body = ? WHERE kind = ? AND id = ?')
  const facet = db.prepare('INSERT INTO facets (kind, name, value, id) VALUES (?, ?, ?, ?)')
  const claim = db.prepare(
    'INSERT INTO unique_values (kind, field, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const ids = db.prepare('SELECT id FROM documents WHERE kind = ? ORDER BY id').all(kind.name)
  for (const id of ids.map(row => String(row.id))) {
    const body = String(read.get(kind.name, id)?.body)
    const { document, facets, unique } = indexed(kind, upgraded(kind, { id, body, from }, schema))
    write.run(JSON.stringify(document), kind.name, id)
    for (const [name, value] of Object.entries(facets)) facet.run(kind.name, name, value, id)
    for (const [field, value] of unique)
      if (claim.run(kind.name, field, value, id).changes === 0) throw taken(`${kind.name} ${id}`, `${field} ${value}`)
  }
}

const taken = (document: string, value: string): StoreError =>
  new StoreError(
    `${document} can't be upgraded: another document has its ${value}. Keep using the version that wrote it`,
    {
      isFinal: true,
    },
  )

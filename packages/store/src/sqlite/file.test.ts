import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../sqlite-store.ts'
import type { Document, Kind } from '../store.ts'

interface Thing extends Document {
  readonly name: string
}
const THINGS: Kind<Thing> = {
  name: 'thing',
  parse: body => body as Thing,
  facets: thing => ({ name: thing.name }),
  announced: true,
}

/** A file as the first version wrote it. */
function firstSchema(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')
  const db = new DatabaseSync(path)
  db.exec(`
    CREATE TABLE documents (kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (kind, id)) WITHOUT ROWID, STRICT;
    CREATE TABLE unique_values (kind TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
      PRIMARY KEY (kind, field, value)) WITHOUT ROWID, STRICT;
    CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL,
      version INTEGER NOT NULL, deleted INTEGER NOT NULL, UNIQUE (kind, id)) STRICT;
    CREATE INDEX tombstones ON changes (seq) WHERE deleted = 1;
    CREATE TABLE forgotten (seq INTEGER NOT NULL) STRICT;
    INSERT INTO forgotten (seq) VALUES (0);
    INSERT INTO documents VALUES ('thing', 'a', 3, '{"id":"a","version":3,"name":"old"}');
    INSERT INTO documents VALUES ('term', 'worker-controller', 2, '{"id":"worker-controller","version":2}');
    INSERT INTO changes (kind, id, version, deleted) VALUES ('thing', 'a', 3, 0), ('term', 'worker-controller', 2, 0);
    PRAGMA application_id = ${0x4c_43_4d_31}; PRAGMA user_version = 1;
  `)
  db.close()
  return path
}

describe('a file of the first version', () => {
  it('is brought up to date, with all that it held', async () => {
    const path = firstSchema()
    for (let opened = 0; opened < 2; opened += 1) {
      const store = openSqliteStore(path)
      const things = store.collection(THINGS)
      expect(await things.get('a')).toEqual({ id: 'a', version: 3, name: 'old' })
      expect(await things.list({ where: { name: 'old' }, limit: 9 })).toHaveLength(1)
      expect(await store.changes?.since('0', 9)).toMatchObject({ known: true, changes: [{ kind: 'thing', id: 'a' }] })
      const services = store.collection({ name: 'service', parse: body => body as Document, announced: true })
      expect(await services.get('worker-controller')).toEqual({ id: 'worker-controller', version: 2 })
      await store.close()
    }
  })
})

it('refuses a file of a newer version and leaves it alone', async () => {
  const path = firstSchema()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => openSqliteStore(path)).toThrow(/newer LCM \(schema 99/)
})

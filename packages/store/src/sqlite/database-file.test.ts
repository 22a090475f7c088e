import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { Document, Kind } from '../store.ts'
import { sqliteRows } from '../testing/sqlite-rows.ts'
import { NO_UPGRADES } from '../upgrade-one-document.ts'
import { migrate, openSqliteFile, refuseReadOnly, SCHEMA_VERSION, unusable } from './database-file.ts'
import { openSqliteStore } from './store.ts'

interface Thing extends Document {
  readonly name: string
}
const THINGS: Kind<Thing> = {
  name: 'thing',
  parse: body => body as Thing,
  facets: thing => ({ name: thing.name }),
  announced: true,
}

/** A file with schema 1. */
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

describe('a file with schema 1', () => {
  it('is migrated without losing data', async () => {
    const path = firstSchema()
    for (let opened = 0; opened < 2; opened += 1) {
      const store = openSqliteStore(path, { schema: { kinds: [THINGS], upgrades: [{}] } })
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

/** Undoes the migrations after schema 2. */
const BACK_TO_THE_SECOND = `
  DROP TABLE blob_chunks;
  DROP TABLE blobs;
  DROP TABLE document_schema;
  CREATE TABLE faceted (kind TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
  ALTER TABLE documents RENAME TO later;
  CREATE TABLE documents (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id)
  ) WITHOUT ROWID, STRICT;
  INSERT INTO documents SELECT kind, id, version, body FROM later;
  DROP TABLE later;
  DROP INDEX journal_of_subject;
  CREATE INDEX journal_of_subject ON journal (subject, at, id);
  PRAGMA user_version = 2;
`

async function secondSchema(): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')
  const store = openSqliteStore(path)
  const entry = { stream: 'audit', at: '2026-01-01T00:00:00.000Z', body: { text: 'made' } }
  await store.collection(THINGS).insert({ id: 'a', version: 1, name: 'first' }, [entry])
  await store.collection(THINGS).insert({ id: 'b', version: 1, name: 'second' })
  await store.close()
  const db = openSqliteFile(path)
  db.exec(BACK_TO_THE_SECOND)
  db.close()
  return path
}

describe('a file with schema 2', () => {
  it('is migrated without losing data', async () => {
    const path = await secondSchema()
    const store = openSqliteStore(path)
    const things = store.collection(THINGS)
    expect((await things.list({ limit: 9 })).map(({ name }) => name)).toEqual(['first', 'second'])
    expect((await things.replace({ id: 'a', version: 2, name: 'first' })).ok).toBe(true)
    const again = await things.insert({ id: 'b', version: 1, name: 'third' })
    expect(again).toEqual({ ok: false, reason: 'taken', field: 'id' })
    const found = await store.journal.query({ streams: ['audit'], subject: 'thing:a', limit: 9 })
    expect(found.map(({ body }) => body)).toEqual([{ text: 'made' }])
    await store.close()
  })

  it('is migrated once when two processes open it at the same time', async () => {
    const path = await secondSchema()
    const db = new DatabaseSync(path)
    const exec = db.exec.bind(db)
    const execAfterOther = (sql: string) => {
      if (sql === 'BEGIN IMMEDIATE') openSqliteFile(path).close()
      exec(sql)
    }
    Object.defineProperty(db, 'exec', { value: execAfterOther })
    migrate(db, NO_UPGRADES)
    db.close()
    expect(sqliteRows(path, 'PRAGMA user_version')).toEqual([{ user_version: SCHEMA_VERSION }])
    expect(sqliteRows(path, 'SELECT id FROM documents')).toEqual([{ id: 'a' }, { id: 'b' }])
  })

  it('reads versions and one stream of a subject from indexes alone', async () => {
    const db = openSqliteFile(await secondSchema())
    const planOf = (text: string) => JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all('thing', 'a'))
    expect(planOf('SELECT id, version FROM documents WHERE kind = ? AND id > ? ORDER BY id')).toMatch(/COVERING INDEX/)
    expect(planOf('SELECT at, id FROM journal WHERE subject = ? AND stream = ? ORDER BY at DESC, id DESC')).toMatch(
      /COVERING INDEX journal_of_subject \(subject=\? AND stream=\?\)/,
    )
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
    db.close()
  })
})

it('changes neither tables nor documents when a document cannot be upgraded', async () => {
  const path = await secondSchema()
  const parse = () => {
    throw new Error('no such thing')
  }
  const schema = { kinds: [{ ...THINGS, parse }], upgrades: [{ thing: () => ({}) }] }
  expect(() => openSqliteStore(path, { schema })).toThrow(
    /^thing a can't be upgraded, and nothing was changed: no such/,
  )
  expect(sqliteRows(path, 'PRAGMA user_version')).toEqual([{ user_version: 2 }])
  expect(sqliteRows(path, 'SELECT body FROM documents')[0]).toEqual({ body: '{"id":"a","version":1,"name":"first"}' })
})

it('refuses a file with a newer schema and leaves it unchanged', async () => {
  const path = firstSchema()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => openSqliteStore(path)).toThrow(/newer LCM \(schema 99/)
})

it('reports a read-only file when it is opened', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-file-')), 'lcm.sqlite')
  openSqliteFile(path).close()
  const db = new DatabaseSync(path, { readOnly: true })
  expect(() => refuseReadOnly(db, path)).toThrow(/is read-only/)
  db.close()
})

describe("advice for a file that can't be opened", () => {
  const ofSqlite = (message: string, sqliteCode: number) => Object.assign(new Error(message), { sqliteCode })

  it('is to free disk space when the disk is full', () => {
    const db = new DatabaseSync(':memory:')
    db.exec('PRAGMA max_page_count = 1')
    try {
      db.exec('CREATE TABLE a (b)')
    } catch (full) {
      expect(unusable('/data/lcm.sqlite', full).message).toMatch(
        /^\/data\/lcm\.sqlite .* disk is full\. Free some disk space/,
      )
    }
    expect(unusable('a', ofSqlite('disk I/O error', 4874)).message).toContain('Free some disk space')
    expect.assertions(2)
    db.close()
  })

  it('is to restore a backup otherwise', () => {
    expect(unusable('a', ofSqlite('disk I/O error', 10)).message).toContain('Restore it from a backup')
  })
})

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../sqlite-store.ts'
import type { Kind } from '../store.ts'
import { openSqliteFile, SCHEMA_VERSION } from './file.ts'

interface Thing {
  readonly id: string
  readonly version: number
}
const THINGS: Kind<Thing> = { name: 'thing', parse: body => body as Thing, announced: true }

/** What the second schema had otherwise than the third. */
const BACK_TO_THE_SECOND = `
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

it('keeps everything when a file of the second schema becomes one of the third', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')
  const before = openSqliteStore(path)
  const entry = { stream: 'audit', at: '2026-01-01T00:00:00.000Z', body: { text: 'made' } }
  await before.collection(THINGS).insert({ id: 'a', version: 1 }, [entry])
  await before.collection(THINGS).insert({ id: 'b', version: 1 })
  await before.close()
  const db = openSqliteFile(path)
  db.exec(BACK_TO_THE_SECOND)
  db.close()

  const after = openSqliteStore(path)
  const things = after.collection(THINGS)
  expect((await things.list({ limit: 9 })).map(({ id }) => id)).toEqual(['a', 'b'])
  expect((await things.replace({ id: 'a', version: 2 })).ok).toBe(true)
  expect(await things.insert({ id: 'b', version: 1 })).toEqual({ ok: false, reason: 'taken', field: 'id' })
  const found = await after.journal.query({ streams: ['audit'], subject: 'thing:a', limit: 9 })
  expect(found.map(({ body }) => body)).toEqual([{ text: 'made' }])
  await after.close()
  const now = openSqliteFile(path)
  expect(now.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
  expect(planOf('SELECT id, version FROM documents WHERE kind = ? AND id > ? ORDER BY id')).toMatch(/COVERING INDEX/)
  now.close()

  function planOf(text: string): string {
    return JSON.stringify(now.prepare(`EXPLAIN QUERY PLAN ${text}`).all('thing', ''))
  }
})

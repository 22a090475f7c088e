import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkMongo, checkSqlite, isSqliteLocked } from './diagnostics.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-examination-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function filled(): string {
  const file = join(folder, 'lcm.sqlite')
  const db = new DatabaseSync(file)
  db.exec('CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a)')
  db.exec('BEGIN')
  const put = db.prepare('INSERT INTO t VALUES (?)')
  for (let n = 0; n < 2000; n++) put.run(`row ${n} ${'x'.repeat(50)}`)
  db.exec('COMMIT')
  db.close()
  return file
}

it('tells a healthy file from a torn and a missing one', async () => {
  const file = filled()
  expect(checkSqlite(file)).toEqual({ location: `sqlite:${file}`, problem: null, isComplete: true })
  const handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(4096, 0xff), 0, 4096, Math.floor(statSync(file).size / 8192) * 4096)
  await handle.close()
  expect(checkSqlite(file).problem).not.toBeNull()
  expect(checkSqlite(join(folder, 'none'))).toMatchObject({ problem: 'file not found' })
  writeFileSync(join(folder, 'text'), 'not a database, and longer than a hundred bytes'.repeat(10))
  expect(checkSqlite(join(folder, 'text')).problem).toContain('not a database')
})

it('detects whether a process holds a lock, and leaves the lock alone', () => {
  const file = join(folder, 'lock')
  expect(isSqliteLocked(file)).toBe(false)
  const holder = new DatabaseSync(file)
  holder.exec('BEGIN EXCLUSIVE')
  expect(isSqliteLocked(file)).toBe(true)
  holder.close()
  expect(isSqliteLocked(file)).toBe(false)
})

it('reports that MongoDB does not respond, without the password', async () => {
  const { location: place, problem } = await checkMongo('mongodb://lcm:secret@127.0.0.1:9/lcm', 300)
  expect(place).toBe('mongodb at 127.0.0.1:9')
  expect(problem).not.toBeNull()
  expect(problem).not.toContain('secret')
})

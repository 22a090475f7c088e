import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { examineMongo, examineSqlite, isLocked } from './examination.ts'

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

it('finds a file that is whole, one that is torn and one that is not there', async () => {
  const file = filled()
  expect(examineSqlite(file)).toEqual({ place: `sqlite:${file}`, problem: null, isWhole: true })
  const handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(4096, 0xff), 0, 4096, Math.floor(statSync(file).size / 8192) * 4096)
  await handle.close()
  expect(examineSqlite(file).problem).not.toBeNull()
  expect(examineSqlite(join(folder, 'none'))).toMatchObject({ problem: 'there is no such file' })
  writeFileSync(join(folder, 'text'), 'not a database, and longer than a hundred bytes'.repeat(10))
  expect(examineSqlite(join(folder, 'text')).problem).toContain('not a database')
})

it('sees whether a process holds a lock, and leaves it as it is', () => {
  const file = join(folder, 'lock')
  expect(isLocked(file)).toBe(false)
  const holder = new DatabaseSync(file)
  holder.exec('BEGIN EXCLUSIVE')
  expect(isLocked(file)).toBe(true)
  holder.close()
  expect(isLocked(file)).toBe(false)
})

it('says that MongoDB does not answer, and never the password', async () => {
  const { place, problem } = await examineMongo('mongodb://lcm:secret@127.0.0.1:9/lcm', 300)
  expect(place).toBe('mongodb at 127.0.0.1:9')
  expect(problem).not.toBeNull()
  expect(problem).not.toContain('secret')
})

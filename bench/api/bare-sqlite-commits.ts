import { systemClock } from '@lcm/runtime/clock'
import { DatabaseSync } from '@photostructure/sqlite'
import { livedWorker } from './fleet-documents.ts'

const ROWS = 1_000

/** Durable commits per second of bare SQLite on this disk, each with one update of one worker's JSON. */
export function rawCommits(file: string) {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE raw (id INTEGER PRIMARY KEY, body TEXT)')
  const insert = db.prepare('INSERT INTO raw (id, body) VALUES (?, ?)')
  const bodies = Array.from({ length: ROWS }, (_, index) => JSON.stringify(livedWorker(index, systemClock.now())))
  db.exec('BEGIN')
  for (const [index, body] of bodies.entries()) insert.run(index, body)
  db.exec('COMMIT')
  const update = db.prepare('UPDATE raw SET body = ? WHERE id = ?')
  let written = 0
  return {
    perSecond(seconds: number): number {
      const startMs = systemClock.monotonic()
      let commits = 0
      for (; systemClock.monotonic() - startMs < seconds * 1000; commits += 1) {
        // SQLite does not write or flush a row that does not change.
        written += 1
        update.run(`${bodies[written % ROWS]}${written}`, written % ROWS)
      }
      return commits / seconds
    },
    close: () => db.close(),
  }
}

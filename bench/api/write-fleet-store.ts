import { STORE_SCHEMA } from '@lcm/control-plane/resources'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { AUDIT_BODY, decisionBody, livedWorker, sampleOf, workerId } from './fleet-documents.ts'

export interface FleetSize {
  readonly workers: number
  /** Spread evenly over all workers. */
  readonly decisions?: number
  /** Additional decisions of the first worker. */
  readonly ofTheFirst?: number
  /** Entries of other streams for the second worker, which a query for its decisions must skip efficiently. */
  readonly auditOfTheSecond?: number
  /** Workers that need no further action. */
  readonly terminated?: boolean
}

/** Age of the oldest decision, within the retention. */
const SPAN_MS = 20 * 86_400_000

type Worker = ReturnType<typeof livedWorker>

/** Writes a store with a long history directly: a million rows in one transaction take seconds. */
export async function writeFleetFile(file: string, size: FleetSize): Promise<void> {
  await openSqliteStore(file, { schema: STORE_SCHEMA }).close()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN')
  const nowMs = systemClock.now()
  writeWorkers(db, size, nowMs)
  withoutIndexes(db, 'journal', () => writeJournal(db, size, nowMs))
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Creating indexes at the end is faster. */
function withoutIndexes(db: DatabaseSyncInstance, table: string, write: () => void): void {
  const made = db.prepare(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
  )
  const indexes = made.all(table)
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`)
  write()
  for (const { sql } of indexes) db.exec(String(sql))
}

function writeWorkers(db: DatabaseSyncInstance, { workers, terminated = false }: FleetSize, nowMs: number): void {
  const document = db.prepare("INSERT INTO documents (kind, id, version, body) VALUES ('worker', ?, ?, ?)")
  const facet = db.prepare("INSERT INTO facets (kind, name, value, id) VALUES ('worker', ?, ?, ?)")
  const unique = db.prepare(
    "INSERT INTO unique_values (kind, field, value, id) VALUES ('worker', 'ec2_instance_id', ?, ?)",
  )
  const change = db.prepare("INSERT INTO changes (kind, id, version, deleted, told) VALUES ('worker', ?, ?, 0, 1)")
  const sample = db.prepare('INSERT INTO samples (series, at, body) VALUES (?, ?, ?)')
  for (let index = 0; index < workers; index += 1) {
    const lived = livedWorker(index, nowMs)
    const worker = terminated
      ? { ...lived, status: 'TERMINATED' as const, desired_status: 'TERMINATED' as const }
      : lived
    document.run(worker.id, worker.version, JSON.stringify(worker))
    for (const [name, value] of facetsOf(worker)) facet.run(name, value, worker.id)
    unique.run(worker.ec2_instance_id, worker.id)
    change.run(worker.id, worker.version)
    const newest = sampleOf(index, nowMs)
    sample.run(`worker:${worker.id}`, newest.collected_at, JSON.stringify(newest))
  }
}

const facetsOf = (worker: Worker): [string, string][] => [
  ['status', worker.status],
  ['desired_status', worker.desired_status],
  ['aws_region', worker.aws_region],
  ['template_name', worker.template_name],
  ['name', worker.name],
  ['ec2_instance_id', worker.ec2_instance_id ?? ''],
  ...Object.entries(worker.labels).map(([name, value]): [string, string] => [`label:${name}`, value]),
]

function writeJournal(db: DatabaseSyncInstance, size: FleetSize, nowMs: number): void {
  const { workers, decisions = 0, ofTheFirst = 0, auditOfTheSecond = 0 } = size
  const insert = db.prepare('INSERT INTO journal (id, stream, subject, at, body) VALUES (?, ?, ?, ?, ?)')
  let entries = 0
  const write = (stream: string, worker: string, age: number) => {
    const at = toInstant(nowMs - Math.floor(age * SPAN_MS))
    const body = stream === 'decision' ? decisionBody(entries) : AUDIT_BODY
    insert.run(`worker:${worker}:${entries}:0`, stream, `worker:${worker}`, at, JSON.stringify(body))
    entries += 1
  }
  for (let n = 0; n < decisions; n += 1) write('decision', workerId(n % workers), 1 - n / decisions)
  for (let n = 0; n < ofTheFirst; n += 1) write('decision', workerId(0), 1 - n / ofTheFirst)
  for (let n = 0; n < auditOfTheSecond; n += 1) write('audit', workerId(1), 1 - n / auditOfTheSecond)
}

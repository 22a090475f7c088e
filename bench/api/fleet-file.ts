import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite-store'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { decisionBody, livedWorker, sampleOf, workerId } from './fleet.ts'

export interface FleetSize {
  readonly workers: number
  /** Over all workers, evenly. */
  readonly decisions?: number
  /** Of the first worker, besides. */
  readonly ofTheFirst?: number
  /** Those that nothing is left to do for. */
  readonly terminated?: boolean
}

/** Decisions are spread over this much of the past, which is kept. */
const SPAN_MS = 20 * 86_400_000

type Worker = ReturnType<typeof livedWorker>

/** A store as long use would leave it, written past the API: a million rows in one transaction take seconds so. */
export async function writeFleetFile(file: string, size: FleetSize): Promise<void> {
  await openSqliteStore(file).close()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN')
  const nowMs = systemClock.now()
  writeWorkers(db, size, nowMs)
  const { decisions = 0, ofTheFirst = 0 } = size
  const write = decisionWriter(db, nowMs)
  for (let n = 0; n < decisions; n += 1) write(workerId(n % size.workers), n, n / decisions)
  for (let n = 0; n < ofTheFirst; n += 1) write(workerId(0), decisions + n, n / ofTheFirst)
  db.exec("INSERT INTO faceted (kind) VALUES ('worker'); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  db.close()
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

function decisionWriter(db: DatabaseSyncInstance, nowMs: number): (worker: string, n: number, age: number) => void {
  const insert = db.prepare("INSERT INTO journal (id, stream, subject, at, body) VALUES (?, 'decision', ?, ?, ?)")
  return (worker, n, age) => {
    const at = toInstant(nowMs - Math.floor((1 - age) * SPAN_MS))
    insert.run(`worker:${worker}:${n}:0`, `worker:${worker}`, at, JSON.stringify(decisionBody(n)))
  }
}

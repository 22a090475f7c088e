import type { Collection } from 'mongodb'
import type { Guard } from './error-guard.ts'
import { type MongoJournal, outboxEntries } from './journal.ts'
import type { KindRegistry, RegisteredKind } from './kind-registry.ts'
import { EXPIRED_TOMBSTONE, OUTBOX_PENDING, type StoredDocument } from './stored-records.ts'

/**
 * Moves outbox entries into the journal and deletes expired tombstones. Steps are idempotent and may run in several
 * processes at once: an entry leaves its outbox only after it is durable in the journal.
 */
export function outboxFlush(
  kinds: KindRegistry,
  journal: MongoJournal,
  guard: Guard,
): (limit: number) => Promise<number> {
  return limit =>
    guard(async () => {
      let flushed = 0
      for (const kind of kinds.all()) {
        if (flushed < limit) flushed += await moveToJournal(kind, journal, limit - flushed)
        if (flushed < limit) flushed += await deleteTombstones(await kind.documents(), limit - flushed)
      }
      return flushed
    })
}

async function moveToJournal(kind: RegisteredKind, journal: MongoJournal, limit: number): Promise<number> {
  const docs = await kind.documents()
  const options = { projection: { outbox: 1 }, limit, batchSize: limit } as const
  const waiting = await docs.find(OUTBOX_PENDING, options).toArray()
  if (waiting.length === 0) return 0
  await journal.insertAll(waiting.flatMap(document => outboxEntries(kind.name, document)))
  await docs.bulkWrite(waiting.flatMap(emptyOutbox), { ordered: true })
  return waiting.length
}

/** Removes only entries that were moved: a write may have added more since, or another process may have moved some. */
function emptyOutbox({ _id, outbox = [] }: Pick<StoredDocument, '_id' | 'outbox'>) {
  const moved = [...new Set(outbox.map(({ id }) => id))]
  const drop = { $unset: { outbox: '' as const } }
  return [
    { updateOne: { filter: { _id, outbox: { $size: moved.length }, 'outbox.id': { $all: moved } }, update: drop } },
    { updateOne: { filter: { _id }, update: { $pull: { outbox: { id: { $in: moved } } } } } },
    { updateOne: { filter: { _id, outbox: { $size: 0 } }, update: drop } },
  ]
}

async function deleteTombstones(docs: Collection<StoredDocument>, limit: number): Promise<number> {
  const options = { projection: { _id: 1 }, limit, batchSize: limit } as const
  const finished = await docs.find(EXPIRED_TOMBSTONE, options).toArray()
  if (finished.length === 0) return 0
  return (await docs.deleteMany({ _id: { $in: finished.map(({ _id }) => _id) }, ...EXPIRED_TOMBSTONE })).deletedCount
}

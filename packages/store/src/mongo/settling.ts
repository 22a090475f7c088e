import type { Collection } from 'mongodb'
import type { Guard } from './errors.ts'
import { entriesIn, type MongoJournal } from './journal.ts'
import type { Kinds, KnownKind } from './kinds.ts'
import { FINISHED, OUTBOX_WAITING, type StoredDocument } from './stored.ts'

/**
 * Moves waiting entries into the journal and deletes tombstones that are needed no more. Each step can be repeated, and any
 * number may do so at the same time: an entry leaves its outbox only after it is durable in the journal.
 */
export function settling(kinds: Kinds, journal: MongoJournal, guard: Guard): (limit: number) => Promise<number> {
  return limit =>
    guard(async () => {
      let settled = 0
      for (const kind of kinds.all()) {
        if (settled < limit) settled += await move(kind, journal, limit - settled)
        if (settled < limit) settled += await bury(await kind.documents(), limit - settled)
      }
      return settled
    })
}

async function move(kind: KnownKind, journal: MongoJournal, limit: number): Promise<number> {
  const docs = await kind.documents()
  const options = { projection: { outbox: 1 }, limit, batchSize: limit } as const
  const waiting = await docs.find(OUTBOX_WAITING, options).toArray()
  if (waiting.length === 0) return 0
  await journal.keep(waiting.flatMap(document => entriesIn(kind.name, document)))
  await docs.bulkWrite(waiting.flatMap(emptying), { ordered: true })
  return waiting.length
}

/** Only what was moved goes: a write may have added more since, or another mover may have been faster. */
function emptying({ _id, outbox = [] }: Pick<StoredDocument, '_id' | 'outbox'>) {
  const moved = [...new Set(outbox.map(({ id }) => id))]
  const drop = { $unset: { outbox: '' as const } }
  return [
    { updateOne: { filter: { _id, outbox: { $size: moved.length }, 'outbox.id': { $all: moved } }, update: drop } },
    { updateOne: { filter: { _id }, update: { $pull: { outbox: { id: { $in: moved } } } } } },
    { updateOne: { filter: { _id, outbox: { $size: 0 } }, update: drop } },
  ]
}

async function bury(docs: Collection<StoredDocument>, limit: number): Promise<number> {
  const options = { projection: { _id: 1 }, limit, batchSize: limit } as const
  const finished = await docs.find(FINISHED, options).toArray()
  if (finished.length === 0) return 0
  return (await docs.deleteMany({ _id: { $in: finished.map(({ _id }) => _id) }, ...FINISHED })).deletedCount
}

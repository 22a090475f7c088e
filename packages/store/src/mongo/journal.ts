import type { Collection, Db, Filter } from 'mongodb'
import type { Journal, JournalEntry, JournalQuery } from '../store.ts'
import { type Guard, isOnlyDuplicates } from './error-guard.ts'
import { indexedCollection, type KindRegistry, type RegisteredKind } from './kind-registry.ts'
import {
  fromStoredJournalEntry,
  OUTBOX_PENDING,
  type StoredDocument,
  type StoredJournalEntry,
  toStoredJournalEntry,
} from './stored-records.ts'

const INDEXES = [
  { name: 'subject', key: { subject: 1, at: -1, _id: -1 } },
  { name: 'stream', key: { stream: 1, at: -1, _id: -1 } },
] as const

export interface MongoJournal extends Journal {
  /** Resolves when all entries are durable, whichever process inserted them. */
  insertAll(entries: readonly StoredJournalEntry[]): Promise<void>
}

export function mongoJournal(db: Db, kinds: KindRegistry, guard: Guard): MongoJournal {
  const journal = indexedCollection<StoredJournalEntry>(db, 'journal', [...INDEXES])

  const keep = async (entries: readonly StoredJournalEntry[]): Promise<void> => {
    if (entries.length === 0) return
    try {
      await (await journal()).insertMany([...entries], { ordered: false })
    } catch (error) {
      if (!isOnlyDuplicates(error)) throw error
    }
  }

  return {
    insertAll: keep,
    append: entries => guard(() => keep(entries.map(toStoredJournalEntry))),
    query: query =>
      guard(async () => {
        if (query.limit <= 0 || query.streams.length === 0) return []
        // Outboxes first: entries flushed meanwhile are in the journal by the time it is read.
        const waiting = (await pendingEntries(kinds, query.subject)).filter(entry => matches(entry, query))
        const kept = await storedEntries(await journal(), query)
        const byId = new Map([...waiting, ...kept].map(entry => [entry.id, entry]))
        return [...byId.values()].sort(newestFirst).slice(0, query.limit)
      }),
    prune: (stream, before, limit) =>
      guard(async () => {
        if (limit <= 0) return 0
        const entries = await journal()
        const options = { projection: { _id: 1 }, sort: { at: 1, _id: 1 }, limit, batchSize: limit } as const
        const old = await entries.find({ stream, at: { $lt: before } }, options).toArray()
        if (old.length === 0) return 0
        return (await entries.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } })).deletedCount
      }),
  }
}

/** Entries in a document's outbox, in the form of the journal. */
export function outboxEntries(kind: string, { _id, outbox = [] }: Pick<StoredDocument, '_id' | 'outbox'>) {
  return outbox.map(
    ({ id, stream, at, body }): StoredJournalEntry => ({ _id: id, subject: `${kind}:${_id}`, stream, at, body }),
  )
}

async function pendingEntries(kinds: KindRegistry, subject: string | undefined): Promise<JournalEntry[]> {
  const found = subject === undefined ? await pendingInAll(kinds) : await pendingIn(kinds, subject)
  return found.map(fromStoredJournalEntry)
}

async function pendingInAll(kinds: KindRegistry): Promise<StoredJournalEntry[]> {
  const found = await Promise.all(
    kinds.all().map(async (kind: RegisteredKind) => {
      const waiting = (await kind.documents()).find(OUTBOX_PENDING, { projection: { outbox: 1 } })
      return (await waiting.toArray()).flatMap(document => outboxEntries(kind.name, document))
    }),
  )
  return found.flat()
}

async function pendingIn(kinds: KindRegistry, subject: string): Promise<StoredJournalEntry[]> {
  const end = subject.indexOf(':')
  const kind = kinds.get(subject.slice(0, end))
  if (end === -1 || kind === undefined) return []
  const id = subject.slice(end + 1)
  const document = await (await kind.documents()).findOne({ _id: id }, { projection: { outbox: 1 } })
  return document === null ? [] : outboxEntries(kind.name, document)
}

async function storedEntries(journal: Collection<StoredJournalEntry>, query: JournalQuery): Promise<JournalEntry[]> {
  const { limit } = query
  const options = { sort: { at: -1, _id: -1 }, limit, batchSize: limit } as const
  return (await journal.find(filterOf(query), options).toArray()).map(fromStoredJournalEntry)
}

function filterOf({ streams, subject, from, to, after }: JournalQuery): Filter<StoredJournalEntry> {
  const bounds: Filter<StoredJournalEntry>[] = [
    ...(from === undefined ? [] : [{ at: { $gte: from } }]),
    ...(to === undefined ? [] : [{ at: { $lt: to } }]),
    // The first bound is redundant but lets the index skip to the right position.
    ...(after === undefined ? [] : [{ at: { $lte: after.at } }, afterEntry(after)]),
  ]
  return {
    stream: { $in: [...streams] },
    ...(subject === undefined ? {} : { subject }),
    ...(bounds.length === 0 ? {} : { $and: bounds }),
  }
}

const afterEntry = ({ at, id }: { at: string; id: string }): Filter<StoredJournalEntry> => ({
  $or: [{ at: { $lt: at } }, { at, _id: { $lt: id } }],
})

function matches(entry: JournalEntry, { streams, from, to, after }: JournalQuery): boolean {
  return (
    streams.includes(entry.stream) &&
    (from === undefined || entry.at >= from) &&
    (to === undefined || entry.at < to) &&
    (after === undefined || newestFirst(after, entry) < 0)
  )
}

type Place = Pick<JournalEntry, 'at' | 'id'>

const newestFirst = (a: Place, b: Place): number => compareBytes(b.at, a.at) || compareBytes(b.id, a.id)
/** Byte order, as the server compares text. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

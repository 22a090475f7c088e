import type { Collection as MongoCollection, UpdateFilter } from 'mongodb'
import type { AnyKind, Collection, Document, Kind, NewEntry, StoreSchema, WriteResult } from '../store.ts'
import { StoreError } from '../store.ts'
import { indexed, refuseNewer, upgraded } from '../upgrade-one-document.ts'
import { type Guard, takenField } from './error-guard.ts'
import { facetsOf, listFilter } from './facet-filter.ts'
import { LIVE, OUTBOX_EMPTY, type StoredDocument, type StoredEntry, storedJson } from './stored-records.ts'

export interface CollectionDeps {
  readonly guard: Guard
  readonly schema: StoreSchema
  documents(): Promise<MongoCollection<StoredDocument>>
  /** Called after each commit of a published kind. */
  wake(): void
}

const OK: WriteResult = { ok: true }
const STALE: WriteResult = { ok: false, reason: 'stale' }
const taken = (field: string): WriteResult => ({ ok: false, reason: 'taken', field })
/** Each further try means that another process used the same id in between. */
const INSERT_TRIES_MAX = 20

export function mongoCollection<T extends Document>(kind: Kind<T>, deps: CollectionDeps): Collection<T> {
  const { guard, documents, schema } = deps
  const number = schema.upgrades.length
  /** A process of an older release must not write over what a newer one has upgraded. */
  const notNewer = { ...LIVE, schema: { $not: { $gt: number } } } as const

  /** Documents of another schema are there only while a process of another release still runs. */
  function read(stored: StoredDocument): T {
    const { json: body, from } = storedJson(stored)
    if (from === number) return JSON.parse(body)
    refuseNewer(from, schema, `${kind.name} ${stored._id}`)
    return upgraded(kind, { id: stored._id, body, from }, schema)
  }

  async function write(work: (docs: MongoCollection<StoredDocument>) => Promise<WriteResult>): Promise<WriteResult> {
    const result = await guard(async () => refusalOr(work(await documents())))
    if (result.ok && kind.announced) deps.wake()
    return result
  }

  return {
    async get(id) {
      const found = await guard(async () => (await documents()).findOne({ _id: id, ...LIVE }, JSON_ONLY))
      return found === null ? null : read(found)
    },
    async list(query) {
      const { limit } = query
      if (limit <= 0) return []
      const options = { ...JSON_ONLY, sort: { _id: 1 }, limit, batchSize: limit } as const
      const found = await guard(async () => (await documents()).find(listFilter(query), options).toArray())
      return found.map(read)
    },
    insert: (document, entries = []) =>
      write(docs => {
        const put = {
          id: document.id,
          fields: fieldsOf(kind, document, schema),
          outbox: outboxOf(kind, document, entries),
        }
        return kind.announced ? insertNew(docs, put) : insertOverTombstone(docs, put)
      }),
    replace: (document, entries = []) =>
      write(async docs => {
        const { id, version } = document
        const update = putUpdate(fieldsOf(kind, document, schema), outboxOf(kind, document, entries))
        const { matchedCount } = await docs.updateOne({ _id: id, version: version - 1, ...notNewer }, update)
        return matchedCount === 0 ? STALE : OK
      }),
    remove: ({ id, version }, entries = []) =>
      write(async docs => {
        const current = { _id: id, version, ...notNewer }
        if (!kind.announced && entries.length === 0) {
          const { deletedCount } = await docs.deleteOne({ ...current, ...OUTBOX_EMPTY })
          if (deletedCount > 0) return OK
        }
        const gone = { id, version: version + 1 }
        const { matchedCount } = await docs.updateOne(
          current,
          tombstoneUpdate(kind, gone, outboxOf(kind, gone, entries)),
        )
        return matchedCount === 0 ? STALE : OK
      }),
  }
}

const JSON_ONLY = { projection: { json: 1, schema: 1, body: 1 } } as const

async function refusalOr(work: Promise<WriteResult>): Promise<WriteResult> {
  try {
    return await work
  } catch (error) {
    const field = takenField(error)
    if (field === null) throw error
    return taken(field)
  }
}

interface Put {
  readonly id: string
  readonly fields: Fields
  readonly outbox: StoredEntry[]
}

type Fields = Pick<StoredDocument, 'version' | 'json' | 'schema' | 'facets' | 'unique' | 'announce'>

async function insertNew(docs: MongoCollection<StoredDocument>, { id, fields, outbox }: Put): Promise<WriteResult> {
  await docs.insertOne({ _id: id, ...fields, ...(outbox.length === 0 ? {} : { outbox }) })
  return OK
}

/** The id may belong to a tombstone with a pending outbox: the document replaces it and keeps that outbox. */
async function insertOverTombstone(docs: MongoCollection<StoredDocument>, put: Put): Promise<WriteResult> {
  for (let tries = 0; tries < INSERT_TRIES_MAX; tries += 1) {
    const inserted = await refusalOr(insertNew(docs, put))
    if (inserted.ok || inserted.reason !== 'taken' || inserted.field !== 'id') return inserted
    const revival = putUpdate(put.fields, put.outbox, { deleted: '' })
    const { matchedCount } = await docs.updateOne({ _id: put.id, deleted: true }, revival)
    if (matchedCount > 0) return OK
    if (await docs.findOne({ _id: put.id, ...LIVE }, { projection: { _id: 1 } })) return inserted
  }
  throw new StoreError(`${put.id} is being inserted and removed by too many processes at once. Try again`)
}

export function fieldsOf(kind: AnyKind, document: Document, { upgrades }: StoreSchema): Fields {
  const { facets, unique } = indexed(kind, document)
  return {
    version: document.version,
    json: JSON.stringify(document),
    schema: upgrades.length,
    facets: facetsOf(facets),
    ...(unique.length === 0 ? {} : { unique: Object.fromEntries(unique) }),
    ...(kind.announced ? { announce: true } : {}),
  }
}

function outboxOf({ name }: { name: string }, { id, version }: Document, entries: readonly NewEntry[]): StoredEntry[] {
  return entries.map(({ stream, at, body }, n) => ({
    id: `${name}:${id}:${version}:${n}`,
    stream,
    at,
    body: JSON.stringify(body),
  }))
}

/** Fields of an earlier write that `$set` would leave. */
export const unsetBeside = ({ unique }: Fields): { body: ''; unique?: '' } => ({
  body: '',
  ...(unique === undefined ? { unique: '' } : {}),
})

/** One update: pending outbox entries stay, and the new ones follow them. */
function putUpdate(fields: Fields, outbox: StoredEntry[], clear: { deleted?: '' } = {}): UpdateFilter<StoredDocument> {
  return {
    $set: fields,
    $unset: { ...clear, ...unsetBeside(fields) },
    ...(outbox.length === 0 ? {} : { $push: { outbox: { $each: outbox } } }),
  }
}

/** Frees facets and unique values at once; the tombstone keeps only what is still to be published. */
function tombstoneUpdate(
  { announced }: { announced: boolean },
  { version }: Document,
  outbox: StoredEntry[],
): UpdateFilter<StoredDocument> {
  return {
    $set: { version, deleted: true, ...(announced ? { announce: true as const } : {}) },
    $unset: { json: '', body: '', facets: '', unique: '' },
    ...(outbox.length === 0 ? {} : { $push: { outbox: { $each: outbox } } }),
  }
}

import type { Db } from 'mongodb'
import type { AnyKind, Document, StoreSchema } from '../store.ts'
import { refuseNewer, upgraded } from '../upgrade-one-document.ts'
import { fieldsOf, unsetBeside } from './collection.ts'
import type { Guard } from './error-guard.ts'
import { kindRegistry, type RegisteredKind } from './kind-registry.ts'
import { LIVE, type StoredDocument, storedJson } from './stored-records.ts'

const META = 'meta'
const SCHEMA_ID = 'schema'
const PAGE = 200

interface StoredSchema {
  _id: typeof SCHEMA_ID
  number: number
}

/**
 * Upgrades the documents of an earlier release. A first pass writes nothing and fails if any document can't be upgraded. The
 * second one can be interrupted, repeated and run by several processes at once: each document carries its own number, and the
 * number of the store is written last.
 */
export async function upgradeMongo(db: Db, guard: Guard, schema: StoreSchema): Promise<void> {
  const meta = db.collection<StoredSchema>(META)
  const number = schema.upgrades.length
  await guard(async () => {
    const found = (await meta.findOne({ _id: SCHEMA_ID }))?.number ?? 0
    refuseNewer(found, schema, 'the store')
    if (found === number) return
    const kinds = kindRegistry(db)
    const all = schema.kinds.map(kind => ({ kind, stored: kinds.add(kind) }))
    let older = 0
    for (const each of all) older += await checkKind(each, schema)
    if (older > 0) schema.onUpgrade?.(found)
    for (const each of all) while ((await upgradeKind(each, schema)) > 0);
    await meta.updateOne({ _id: SCHEMA_ID }, { $max: { number } }, { upsert: true })
  })
}

interface OpenKind {
  readonly kind: AnyKind
  readonly stored: RegisteredKind
}

/** Returns the number of older documents. */
async function checkKind(open: OpenKind, schema: StoreSchema): Promise<number> {
  let found = 0
  for await (const page of olderPages(open, schema)) {
    for (const old of page) documentOf(open, old, schema)
    found += page.length
  }
  return found
}

/** Returns the number of older documents that were found; a concurrent write may have kept some from being upgraded. */
async function upgradeKind(open: OpenKind, schema: StoreSchema): Promise<number> {
  const docs = await open.stored.documents()
  let found = 0
  for await (const page of olderPages(open, schema)) {
    found += page.length
    const writes = page.map(old => {
      // Versions stay and nothing is announced: no resource has changed.
      const { announce: _, ...fields } = fieldsOf(open.kind, documentOf(open, old, schema), schema)
      const filter = { _id: old._id, version: old.version, ...olderThan(schema) }
      return { updateOne: { filter, update: { $set: fields, $unset: unsetBeside(fields) } } }
    })
    await docs.bulkWrite(writes, { ordered: false })
  }
  return found
}

function documentOf({ kind }: OpenKind, old: StoredDocument, schema: StoreSchema): Document {
  const { json: body, from } = storedJson(old)
  return upgraded(kind, { id: old._id, body, from }, schema)
}

/** Documents that 0.1.0 wrote have a body, and perhaps the number of an earlier write. */
const olderThan = ({ upgrades }: StoreSchema) => ({
  $or: [{ body: { $exists: true } }, { schema: { $not: { $gte: upgrades.length } } }],
})

async function* olderPages({ stored }: OpenKind, schema: StoreSchema): AsyncGenerator<StoredDocument[]> {
  const docs = await stored.documents()
  const options = { sort: { _id: 1 }, limit: PAGE, batchSize: PAGE } as const
  for (let after = ''; ; ) {
    const page = await docs.find({ ...LIVE, ...olderThan(schema), _id: { $gt: after } }, options).toArray()
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last._id
  }
}

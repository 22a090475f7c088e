import type { Collection, Db } from 'mongodb'
import { chunksOf, digestOf } from '../blob-chunks.ts'
import type { Blobs } from '../store.ts'
import { type Guard, isOnlyDuplicates } from './error-guard.ts'
import { indexedCollection } from './kind-registry.ts'

/** Written after the last chunk: without it a blob can't be read. */
interface StoredBlob {
  readonly _id: string
  readonly sha256: string
  readonly bytes: number
}

interface StoredChunk {
  /** Names blob, digest and number, so that writers of the same blob never mix their chunks. */
  readonly _id: string
  readonly blob: string
  readonly sha256: string
  readonly n: number
  readonly content: Uint8Array
}

const CHUNK_INDEX = { name: 'blob', key: { blob: 1, n: 1 } } as const

export function mongoBlobs(db: Db, guard: Guard): Blobs {
  const blobs = db.collection<StoredBlob>('blobs')
  const chunks = indexedCollection<StoredChunk>(db, 'blob_chunks', [CHUNK_INDEX])
  return {
    write: (id, content) => guard(async () => put({ blobs, chunks: await chunks() }, id, content)),
    read: id =>
      guard(async () => {
        const head = await blobs.findOne({ _id: id })
        if (head === null) return null
        const options = { sort: { n: 1 }, promoteBuffers: true } as const
        const found = await (await chunks()).find({ blob: id, sha256: head.sha256 }, options).toArray()
        const content = Buffer.concat(found.map(chunk => chunk.content))
        // A removal at the same time may have deleted some chunks.
        return content.length === head.bytes ? content : null
      }),
    remove: id =>
      guard(async () => {
        await blobs.deleteOne({ _id: id })
        // The first chunks go last, because `ids` looks for them.
        await (await chunks()).deleteMany({ blob: id, n: { $gt: 0 } })
        await (await chunks()).deleteMany({ blob: id })
      }),
    ids: ({ after = '', limit }) =>
      guard(async () => {
        if (limit <= 0) return []
        const options = { projection: { blob: 1 }, sort: { blob: 1 }, limit, batchSize: limit } as const
        const found = await (await chunks()).find({ blob: { $gt: after }, n: 0 }, options).toArray()
        return [...new Set(found.map(({ blob }) => blob))]
      }),
    total: () =>
      guard(async () => {
        const totals = { _id: null, count: { $sum: 1 }, bytes: { $sum: '$bytes' } }
        const [found] = await blobs.aggregate<{ count: number; bytes: number }>([{ $group: totals }]).toArray()
        return { count: found?.count ?? 0, bytes: found?.bytes ?? 0 }
      }),
  }
}

interface Collections {
  readonly blobs: Collection<StoredBlob>
  readonly chunks: Collection<StoredChunk>
}

async function put({ blobs, chunks }: Collections, id: string, content: Uint8Array): Promise<boolean> {
  const sha256 = digestOf(content)
  const known = await blobs.findOne({ _id: id })
  if (known !== null) return known.sha256 === sha256
  for (const [n, chunk] of chunksOf(content).entries()) {
    const stored = { _id: `${id}/${sha256}/${n}`, blob: id, sha256, n, content: chunk }
    await chunks.insertOne(stored).catch(unlessTaken)
  }
  await blobs.insertOne({ _id: id, sha256, bytes: content.length }).catch(unlessTaken)
  const head = await blobs.findOne({ _id: id })
  if (head === null || head.sha256 === sha256) return true
  await chunks.deleteMany({ blob: id, sha256 })
  return false
}

/** The same chunk or head was written before. */
function unlessTaken(error: unknown): void {
  if (!isOnlyDuplicates(error)) throw error
}

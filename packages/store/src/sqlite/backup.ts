import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError, type StoreSchema } from '../store.ts'
import { NO_UPGRADES, refuseNewer } from '../upgrade-one-document.ts'
import { startNewHistory } from './change-feed.ts'
import { APPLICATION_ID, MAGIC, SCHEMA_VERSION } from './database-file.ts'
import { documentSchema } from './upgrade-documents.ts'

/** Differs from the store's id, so that neither file is mistaken for the other. */
const BACKUP_ID = 0x4c_43_4d_42
const HEADER_BYTES = 100
const USER_VERSION_AT = 60
const APPLICATION_ID_AT = 68
const CHUNK_BYTES = 256 * 1024

/** Files that a restore needs besides the store, by name. */
export type BackupParts = ReadonlyMap<string, Uint8Array>

/**
 * Converts a copy written by `Store.backup` into a backup: the same file, with the parts in a table and another
 * application id.
 */
export function packBackup(file: string, parts: BackupParts): void {
  const db = new DatabaseSync(file)
  try {
    // The copy is temporary: waiting for the disk would only slow others down.
    db.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE')
    db.exec('CREATE TABLE lcm_backup (name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT')
    const put = db.prepare('INSERT INTO lcm_backup (name, content) VALUES (?, ?)')
    for (const [name, content] of parts) put.run(name, content)
    db.exec(`PRAGMA application_id = ${BACKUP_ID}`)
  } finally {
    db.close()
  }
}

const sealOf = (sha256: string): string => `\nlcm backup sha256 ${sha256}\n`
const SEAL_BYTES = sealOf('0'.repeat(64)).length

/**
 * Chunks of a packed backup, followed by a seal with their digest, so that truncation and changes are detected. SQLite
 * ignores bytes after its last page, so the sealed file still opens with any SQLite tool.
 */
export async function* sealedChunks(file: string): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256')
  for await (const chunk of bytesOf(file)) {
    digest.update(chunk)
    yield chunk
  }
  yield Buffer.from(sealOf(digest.digest('hex')))
}

/** Passes a sealed backup on, and rejects with a StoreError at its end unless it is complete. */
export async function* completeChunks(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256')
  let tail: Uint8Array = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const held = Buffer.concat([tail, chunk])
    const end = Math.max(0, held.length - SEAL_BYTES)
    digest.update(held.subarray(0, end))
    tail = held.subarray(end)
    yield chunk
  }
  if (Buffer.from(tail).toString('latin1') !== sealOf(digest.digest('hex')))
    throw damaged(name, 'its content does not match its checksum')
}

async function* bytesOf(file: string, length = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = createReadStream(file, { highWaterMark: CHUNK_BYTES, end: length - 1 })
  yield* chunks
}

/** Rejects with a StoreError unless the file is a complete backup that this version can read. */
export async function verifyBackup(file: string): Promise<void> {
  await verifiedCopy(file, null)
}

/**
 * Writes the store to `to` and returns the parts. Refuses a file that is not a complete backup, or has documents of a newer
 * schema. Older ones are upgraded when the store is opened.
 */
export async function unpackBackup(
  file: string,
  to: string,
  { nowMs, schema = NO_UPGRADES }: { nowMs: number; schema?: StoreSchema },
): Promise<BackupParts> {
  await verifiedCopy(file, to)
  const db = new DatabaseSync(to)
  try {
    refuseDamaged(db, file)
    refuseNewer(documentSchema(db), schema, file)
    const rows = db.prepare('SELECT name, content FROM lcm_backup').all()
    const parts = new Map(
      rows.flatMap(({ name, content }) => (content instanceof Uint8Array ? [[String(name), content]] : [])),
    )
    startNewHistory(db, nowMs)
    // The secret key must not survive in free pages.
    db.exec(`PRAGMA secure_delete = ON; DROP TABLE lcm_backup; PRAGMA application_id = ${APPLICATION_ID}`)
    return parts
  } catch (error) {
    throw error instanceof StoreError ? error : damaged(file, error)
  } finally {
    db.close()
  }
}

async function verifiedCopy(file: string, to: string | null): Promise<void> {
  const length = await refuseForeign(file)
  const digest = createHash('sha256')
  const copy = to === null ? null : await open(to, 'wx', 0o600)
  try {
    for await (const chunk of length === 0 ? [] : bytesOf(file, length)) {
      digest.update(chunk)
      await copy?.writeFile(chunk)
    }
  } finally {
    await copy?.close()
  }
  if ((await tailOf(file, length)) !== sealOf(digest.digest('hex')))
    throw damaged(file, 'its content does not match its checksum')
}

/** Returns the number of bytes before the seal. */
async function refuseForeign(file: string): Promise<number> {
  const { header, size } = await reading(file, async handle => {
    const header = Buffer.alloc(HEADER_BYTES)
    await handle.read(header, 0, HEADER_BYTES, 0)
    return { header, size: (await handle.stat()).size }
  })
  const isBackup =
    header.toString('latin1', 0, MAGIC.length) === MAGIC && header.readUInt32BE(APPLICATION_ID_AT) === BACKUP_ID
  if (!isBackup) throw new StoreError(`${file} is not an LCM backup. Choose a file that \`lcm backup\` wrote`)
  const version = header.readUInt32BE(USER_VERSION_AT)
  if (version > SCHEMA_VERSION) {
    const schemas = `schema ${version}, this one reads up to ${SCHEMA_VERSION}`
    throw new StoreError(`${file} was made by a newer LCM (${schemas}). Restore it with that version`)
  }
  return Math.max(0, size - SEAL_BYTES)
}

const tailOf = (file: string, from: number): Promise<string> =>
  reading(file, async handle => {
    const tail = Buffer.alloc(SEAL_BYTES)
    await handle.read(tail, 0, SEAL_BYTES, from)
    return tail.toString('latin1')
  })

async function reading<T>(file: string, read: (handle: FileHandle) => Promise<T>): Promise<T> {
  let handle: FileHandle | null = null
  try {
    handle = await open(file, 'r')
    return await read(handle)
  } catch (cause) {
    throw new StoreError(`${file} can't be read: ${messageOf(cause)}. Choose a file that \`lcm backup\` wrote`, {
      cause,
    })
  } finally {
    await handle?.close()
  }
}

function refuseDamaged(db: DatabaseSyncInstance, file: string): void {
  const found = db.prepare('PRAGMA quick_check(1)').get()
  const verdict = found === undefined ? 'no answer' : String(Object.values(found)[0])
  if (verdict !== 'ok') throw damaged(file, verdict)
}

const damaged = (file: string, cause: unknown): StoreError =>
  new StoreError(`${file} is damaged or truncated: ${messageOf(cause)}. Use another backup`, { cause })

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^E\w+: /, '') : String(error)

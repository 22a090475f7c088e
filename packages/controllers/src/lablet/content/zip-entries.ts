import { inflateRawSync } from 'node:zlib'
import { ContentError } from './content-sources.ts'

export const ZIP_ENTRIES_MAX = 1_000
/** Limit for one unpacked entry. */
export const ENTRY_BYTES_MAX = 4 * 1024 * 1024

const END_SIGNATURE = 0x06054b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const DIRECTORY_SIGNATURE = 0x02014b50
const DIRECTORY_BYTES = 46
const LOCAL_SIGNATURE = 0x04034b50
const LOCAL_BYTES = 30
const STORED = 0
const DEFLATED = 8
const ENCRYPTED_FLAG = 1

export interface ZipEntry {
  readonly name: string
  /** Unpacks it, within the limit. */
  read(): Buffer
}

export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === LOCAL_SIGNATURE

/** The files in a zip, by its directory. An entry outside of the zip's own folder refuses the whole zip. */
export function zipEntries(zip: Buffer): ZipEntry[] {
  const end = endOf(zip)
  const count = zip.readUInt16LE(end + 10)
  if (count > ZIP_ENTRIES_MAX) throw new ContentError(`the zip has ${count} entries; at most ${ZIP_ENTRIES_MAX}`)
  const entries: ZipEntry[] = []
  let at = zip.readUInt32LE(end + 16)
  for (let n = 0; n < count; n += 1) {
    const { entry, next } = entryAt(zip, at)
    if (!entry.name.endsWith('/')) entries.push(entry)
    at = next
  }
  return entries
}

function endOf(zip: Buffer): number {
  const first = Math.max(0, zip.length - END_BYTES - COMMENT_BYTES_MAX)
  for (let at = zip.length - END_BYTES; at >= first; at -= 1) if (zip.readUInt32LE(at) === END_SIGNATURE) return at
  throw new ContentError('the zip ends too early')
}

function entryAt(zip: Buffer, at: number): { entry: ZipEntry; next: number } {
  if (at + DIRECTORY_BYTES > zip.length || zip.readUInt32LE(at) !== DIRECTORY_SIGNATURE) throw damaged()
  const nameBytes = zip.readUInt16LE(at + 28)
  const next = at + DIRECTORY_BYTES + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  const name = zip.toString('utf8', at + DIRECTORY_BYTES, at + DIRECTORY_BYTES + nameBytes)
  refuseWandering(name)
  const place = {
    name,
    isEncrypted: (zip.readUInt16LE(at + 8) & ENCRYPTED_FLAG) !== 0,
    method: zip.readUInt16LE(at + 10),
    packedBytes: zip.readUInt32LE(at + 20),
    bytes: zip.readUInt32LE(at + 24),
    localAt: zip.readUInt32LE(at + 42),
  }
  return { entry: { name, read: () => unpack(zip, place) }, next }
}

function refuseWandering(name: string): void {
  const isOutside = name.startsWith('/') || /^[A-Za-z]:/.test(name) || name.split(/[/\\]/).includes('..')
  if (isOutside || name.includes('\0'))
    throw new ContentError(`the zip has an entry outside of it: ${name.slice(0, 100)}`)
}

interface Place {
  readonly name: string
  readonly isEncrypted: boolean
  readonly method: number
  readonly packedBytes: number
  readonly bytes: number
  readonly localAt: number
}

/** The sizes in a zip may be wrong, so the unpacked bytes are limited. */
function unpack(zip: Buffer, { name, isEncrypted, method, packedBytes, bytes, localAt }: Place): Buffer {
  if (isEncrypted) throw new ContentError(`${name} is encrypted`)
  if (bytes > ENTRY_BYTES_MAX) throw tooLarge(name)
  if (localAt + LOCAL_BYTES > zip.length || zip.readUInt32LE(localAt) !== LOCAL_SIGNATURE) throw damaged()
  const begin = localAt + LOCAL_BYTES + zip.readUInt16LE(localAt + 26) + zip.readUInt16LE(localAt + 28)
  const packed = zip.subarray(begin, begin + packedBytes)
  if (packed.length !== packedBytes) throw damaged()
  if (method === STORED) return packed
  if (method !== DEFLATED) throw new ContentError(`${name} has an unknown compression method (${method})`)
  try {
    return inflateRawSync(packed, { maxOutputLength: ENTRY_BYTES_MAX })
  } catch (cause) {
    throw isTooLarge(cause) ? tooLarge(name) : new ContentError(`${name} can't be unpacked`, { cause })
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
const tooLarge = (name: string) => new ContentError(`${name} unpacks to more than ${ENTRY_BYTES_MAX} bytes`)
const damaged = () => new ContentError('the zip is damaged')

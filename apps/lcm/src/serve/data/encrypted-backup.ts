import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { StartupError } from '../startup-error.ts'

/** Names the format and its version; a change of either needs another line. */
const MAGIC = Buffer.from('lcm encrypted backup 1\n')
const SALT_BYTES = 16
/** Tells a wrong passphrase from a damaged file. */
const CHECK_BYTES = 16
const NONCE_START_BYTES = 7
const HEADER_BYTES = MAGIC.length + 1 + SALT_BYTES + CHECK_BYTES + NONCE_START_BYTES
const KEY_BYTES = 32
const TAG_BYTES = 16
const CHUNK_BYTES = 64 * 1024
/** The cost of a guess is 2 to this power, times 1 kB of memory: 128 MB. A backup says its own. */
const COST = 17
const COST_MAX = 20

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

async function keyOf(passphrase: string, salt: Buffer, cost: number): Promise<{ key: Buffer; check: Buffer }> {
  const N = 2 ** cost
  const setting = { N, r: 8, p: 1, maxmem: 2 * 1024 * N }
  const bytes = await derive(passphrase.normalize('NFKC'), salt, KEY_BYTES + CHECK_BYTES, setting)
  return { key: bytes.subarray(0, KEY_BYTES), check: bytes.subarray(KEY_BYTES) }
}

/** Each chunk has its number, and the last one says so: none can be moved, left out or cut off. */
function nonceOf(start: Buffer, index: number, isLast: boolean): Buffer {
  const rest = Buffer.alloc(5)
  rest.writeUInt32BE(index)
  rest.writeUInt8(isLast ? 1 : 0, 4)
  return Buffer.concat([start, rest])
}

/** Encrypts a backup with a key that scrypt derives from a passphrase, in authenticated chunks. */
export async function* encryptBackup(
  chunks: AsyncIterable<Uint8Array>,
  passphrase: string,
  cost = COST,
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(SALT_BYTES)
  const start = randomBytes(NONCE_START_BYTES)
  const { key, check } = await keyOf(passphrase, salt, cost)
  const header = Buffer.concat([MAGIC, Buffer.of(cost), salt, check, start])
  yield header
  let index = 0
  for await (const { chunk, isLast } of cut(chunks, CHUNK_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(start, index, isLast)).setAAD(header)
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
    index += 1
  }
}

/** Whether a file begins like an encrypted backup. A file that can't be read does not. */
export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file, 'r').catch(() => null)
  if (handle === null) return false
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
    return bytesRead === MAGIC.length && buffer.equals(MAGIC)
  } finally {
    await handle.close()
  }
}

/** Yields only authenticated chunks. Rejects with a StartupError for a wrong passphrase or a damaged file. */
export async function* decryptBackup(file: string, passphrase: string): AsyncGenerator<Uint8Array> {
  const header = await headerOf(file)
  const [saltAt, startAt] = [MAGIC.length + 1, HEADER_BYTES - NONCE_START_BYTES]
  const cost = header[MAGIC.length] ?? 0
  if (cost < 1 || cost > COST_MAX) throw damaged(file)
  const { key, check } = await keyOf(passphrase, header.subarray(saltAt, saltAt + SALT_BYTES), cost)
  const start = header.subarray(startAt)
  if (!timingSafeEqual(check, header.subarray(saltAt + SALT_BYTES, startAt)))
    throw new StartupError(`this passphrase does not open ${file}`, {
      advice: 'use the passphrase that the backup was made with',
    })
  let index = 0
  for await (const { chunk, isLast } of cut(createReadStream(file, { start: HEADER_BYTES }), CHUNK_BYTES + TAG_BYTES)) {
    if (chunk.length < TAG_BYTES) throw damaged(file)
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(start, index, isLast), { authTagLength: TAG_BYTES })
    decipher.setAAD(header).setAuthTag(chunk.subarray(chunk.length - TAG_BYTES))
    yield opened(file, () => Buffer.concat([decipher.update(chunk.subarray(0, -TAG_BYTES)), decipher.final()]))
    index += 1
  }
}

async function headerOf(file: string): Promise<Buffer> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    if (bytesRead < HEADER_BYTES) throw damaged(file)
    return buffer
  } finally {
    await handle.close()
  }
}

function opened(file: string, open: () => Buffer): Buffer {
  try {
    return open()
  } catch {
    throw damaged(file)
  }
}

const damaged = (file: string): StartupError =>
  new StartupError(`${file} is damaged or truncated`, { advice: 'use another backup' })

/** Cuts a stream into chunks of one size. The last one may be shorter, and is empty only for an empty stream. */
async function* cut(
  stream: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  let rest = Buffer.alloc(0)
  for await (const bytes of stream) {
    rest = Buffer.concat([rest, bytes])
    // The last chunk is known only at the end, so one is always kept.
    while (rest.length > size) {
      yield { chunk: rest.subarray(0, size), isLast: false }
      rest = rest.subarray(size)
    }
  }
  yield { chunk: rest, isLast: true }
}

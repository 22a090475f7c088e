import { type FileHandle, open } from 'node:fs/promises'

/** Larger files are refused. */
const BYTES_MAX = 16 * 1024 * 1024
const CHUNK_BYTES = 64 * 1024

/** Carries the reason in `code`, like a system error. */
class NoTextError extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** Reads a text file. Rejects with a `code` if it can't be read, is too large or is not UTF-8. */
export async function readTextFile(file: string): Promise<string> {
  const handle = await open(file)
  try {
    return textOf(await bytesOf(handle))
  } finally {
    await handle.close()
  }
}

/** Reads a text stream, such as standard input, with the same limits. */
export async function textFrom(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk))
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw tooLarge()
  }
  return textOf(Buffer.concat(chunks))
}

const tooLarge = (): NoTextError => new NoTextError(`it is larger than ${BYTES_MAX / 1024 / 1024} MB`)

/** Reads in chunks, because devices and pipes have no size. */
async function bytesOf(handle: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let bytes = 0; bytes <= BYTES_MAX; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES))
    if (bytesRead === 0) return Buffer.concat(chunks)
    chunks.push(buffer.subarray(0, bytesRead))
    bytes += bytesRead
  }
  throw tooLarge()
}

/** Rejects invalid UTF-8 instead of silently replacing characters. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new NoTextError('it is not UTF-8 text')
  }
}

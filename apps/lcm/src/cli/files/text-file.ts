import { type FileHandle, open } from 'node:fs/promises'

/** More than LCM takes of anything that is written by hand. */
const BYTES_MAX = 16 * 1024 * 1024
const CHUNK_BYTES = 64 * 1024

/** Its `code` says why, as that of a system error does. */
class NoTextError extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** The whole of a file that a person names. Rejects with a `code`, also where it is too large to be meant, or no text. */
export async function readTextFile(file: string): Promise<string> {
  const handle = await open(file)
  try {
    return textOf(await bytesOf(handle))
  } finally {
    await handle.close()
  }
}

/** The same of a stream, such as standard input. */
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

/** Not by its size, which devices and pipes do not tell. */
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

/** Characters that can not be read would otherwise become others, without a word. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new NoTextError('it is no text in UTF-8')
  }
}

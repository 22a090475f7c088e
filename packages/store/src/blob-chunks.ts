import { createHash } from 'node:crypto'

/** Larger chunks would keep other writes waiting. */
export const CHUNK_BYTES = 1024 * 1024

export const digestOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** At least one chunk, so that every blob has a first one. */
export function chunksOf(content: Uint8Array): readonly Uint8Array[] {
  const count = Math.max(1, Math.ceil(content.length / CHUNK_BYTES))
  return Array.from({ length: count }, (_, n) => content.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES))
}

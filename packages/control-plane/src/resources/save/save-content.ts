import { gunzipSync } from 'node:zlib'
import { ProblemError, refusedBy } from '@lcm/contract/problems'
import { reason } from '@lcm/domain/reason'
import { SAVE_BYTES_MAX, SAVED_TOPOLOGY_BYTES_MAX } from '@lcm/domain/save/save'
import type { Api } from '../../api-context.ts'
import { decrypt, encrypt, sha256 } from '../../crypto.ts'
import type { StoredSave } from '../../internal-documents.ts'

const KEY_BYTES = 32

/** The work of a session as a controller sent it: checked, compressed, not yet encrypted. */
export interface SaveContent {
  readonly compressed: Uint8Array
  readonly sha256: string
}

/** Refuses content that is too large or damaged. */
export function contentOf(base64: string): SaveContent {
  const compressed = Buffer.from(base64, 'base64')
  if (compressed.length > SAVE_BYTES_MAX) throw tooLarge(compressed.length, SAVE_BYTES_MAX)
  return { compressed, sha256: sha256(decompressed(compressed)) }
}

function decompressed(compressed: Uint8Array): Buffer {
  try {
    return gunzipSync(compressed, { maxOutputLength: SAVED_TOPOLOGY_BYTES_MAX })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(null, SAVED_TOPOLOGY_BYTES_MAX)
    const message = 'must be compressed with gzip and encoded as base64'
    throw new ProblemError('validation_failed', `body.topology: ${message}`, [{ path: 'body.topology', message }])
  }
}

const tooLarge = (size_bytes: number | null, limit_bytes: number): ProblemError =>
  refusedBy('save_too_large', reason('save_too_large', { size_bytes, limit_bytes }))

/** Encrypts with a key that no other save has, and writes the blob. Returns the key, sealed. */
export async function writeContent(api: Api, id: string, { compressed }: SaveContent): Promise<string> {
  const key = api.randomBytes(KEY_BYTES)
  await api.store.blobs.write(id, encrypt(compressed, { key, purpose: id, randomBytes: api.randomBytes }))
  return Buffer.from(key).toString('base64url')
}

/** The topology as YAML. */
export async function readContent(api: Api, save: StoredSave): Promise<string> {
  const { id } = save
  const sealed = async () => (await api.saves.get(id))?.sealed_key ?? null
  const key = await api.keys.openStored(sealed, id)
  const blob = await api.store.blobs.read(id)
  const compressed =
    key === null || blob === null ? null : decrypt(blob, { key: Buffer.from(key, 'base64url'), purpose: id })
  if (compressed !== null) return decompressed(compressed).toString('utf8')
  throw new ProblemError('save_unreadable', `the key or the content of ${id} is lost or damaged`)
}

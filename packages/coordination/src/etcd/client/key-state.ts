import type { KeyValue } from '../generated/etcd_pb.ts'

export interface KeyState {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  /** Revision of the last change. */
  readonly modRevision: number
  /** Lease that the key is attached to; 0 for none. */
  readonly lease: bigint
}

export type KeyChange =
  | { readonly type: 'put'; readonly state: KeyState; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number }

/** One key, or all keys with this prefix. */
export interface KeyRange {
  readonly key: string
  readonly isPrefix: boolean
}

export const keyStateOf = ({ key, value, createRevision, modRevision, lease }: KeyValue): KeyState => ({
  key: textOf(key),
  value: textOf(value),
  createRevision: Number(createRevision),
  modRevision: Number(modRevision),
  lease,
})

/** etcd's form of a range: from `key` up to, but excluding, `rangeEnd`. */
export function rangeOf({ key, isPrefix }: KeyRange): { key: Uint8Array; rangeEnd?: Uint8Array } {
  return isPrefix ? { key: bytesOf(key), rangeEnd: endOfPrefix(bytesOf(key)) } : { key: bytesOf(key) }
}

/** Smallest key after the prefix: its last byte plus one. UTF-8 text never ends in byte 255. */
function endOfPrefix(prefix: Uint8Array): Uint8Array {
  if (prefix.length === 0) throw new Error('a prefix needs at least one character')
  const end = prefix.slice()
  end[end.length - 1] = (end.at(-1) ?? 0) + 1
  return end
}

export const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'utf8')

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

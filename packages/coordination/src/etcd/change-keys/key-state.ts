import type { KeyValue } from '../generated/etcd_pb.ts'

/** One key as etcd holds it. */
export interface KeyState {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  /** The revision that last changed it. */
  readonly modRevision: number
  /** The lease that it ends with; 0 when with none. */
  readonly lease: bigint
}

export type KeyChange =
  | { readonly type: 'put'; readonly state: KeyState; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number }

/** One key, or all that begin with it. */
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

/** As etcd takes it: from `key` up to, but without, `rangeEnd`. */
export function rangeOf({ key, isPrefix }: KeyRange): { key: Uint8Array; rangeEnd?: Uint8Array } {
  return isPrefix ? { key: bytesOf(key), rangeEnd: endOfPrefix(bytesOf(key)) } : { key: bytesOf(key) }
}

/** The smallest key after all that begin with the prefix: its last byte plus one. Text never ends in a byte of 255. */
function endOfPrefix(prefix: Uint8Array): Uint8Array {
  if (prefix.length === 0) throw new Error('a prefix needs at least one character')
  const end = prefix.slice()
  end[end.length - 1] = (end.at(-1) ?? 0) + 1
  return end
}

export const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'utf8')

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

import type { ApiResponse } from '@lcm/contract/wire'
import { bufferPool } from './buffer-pool.ts'

type Bytes = NonNullable<ApiResponse['bytes']>

/** An answer that is JSON already, so that what did not change since it was last written is not written again. */
export class JsonBytes<T> {
  readonly bytes: Bytes
  /** What it is the JSON of; no more than a type. */
  declare readonly of: T

  constructor(bytes: Bytes) {
    this.bytes = bytes
  }
}

/** Remembers what is made of an object for as long as the object lives. */
export function memoizePerObject<T extends object, R>(make: (from: T) => R): (from: T) => R {
  const known = new WeakMap<T, R>()
  return from => {
    const before = known.get(from)
    if (before !== undefined) return before
    const made = make(from)
    known.set(from, made)
    return made
  }
}

const OPENING = '{"items":['
const UTF8_BYTES_MAX = 3
const memory = bufferPool()

/** A list whose items are given as JSON in two parts each, and whose further fields follow them. */
export function jsonPage(items: readonly (readonly [Buffer, string])[], further: object): Bytes {
  const end = `],${JSON.stringify(further).slice(1)}`
  let most = OPENING.length + end.length * UTF8_BYTES_MAX
  for (const [head, tail] of items) most += head.length + tail.length * UTF8_BYTES_MAX + 1
  const page = memory.take(most)
  let length = page.write(OPENING)
  for (const [place, [head, tail]] of items.entries()) {
    if (place > 0) length += page.write(',', length)
    length += head.copy(page, length)
    length += page.write(tail, length)
  }
  length += page.write(end, length)
  return { data: page.subarray(0, length), done: () => memory.release(page) }
}

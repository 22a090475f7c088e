import type { ApiResponse } from '@lcm/contract/wire'

type Bytes = NonNullable<ApiResponse['bytes']>

const KEPT_BYTES_MAX = 8 * 1024 * 1024
const STEP_BYTES = 64 * 1024

/** Reusable memory for large responses: allocating it for each would keep the garbage collector busy. */
export interface BufferPool {
  take(bytes: number): Buffer
  /** Returns a buffer that is no longer read. Buffers that are never released are not reused. */
  release(taken: Buffer): void
}

export function bufferPool(keptBytesMax = KEPT_BYTES_MAX): BufferPool {
  const free: Buffer[] = []
  let kept = 0
  return {
    take(bytes) {
      const place = free.findIndex(each => each.length >= bytes)
      const [found] = place < 0 ? [] : free.splice(place, 1)
      kept -= found?.length ?? 0
      return found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    },
    release(taken) {
      if (kept + taken.length > keptBytesMax) return
      kept += taken.length
      free.push(taken)
    },
  }
}

/** Caches a result for as long as its argument lives. */
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

/** A list whose items are JSON in two parts each, followed by further fields. */
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

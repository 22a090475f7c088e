import type { ApiResponse } from '@lcm/contract/route-spec'

type Bytes = NonNullable<ApiResponse['bytes']>

const FREE_BYTES_MAX = 8 * 1024 * 1024
const STEP_BYTES = 64 * 1024

/** Reusable memory for large responses: allocating it for each would keep the garbage collector busy. */
export interface BufferPool {
  take(bytes: number): Buffer
  /** Returns a buffer that is no longer read. Buffers that are never released are not reused. */
  release(buffer: Buffer): void
}

export function bufferPool(freeBytesMax = FREE_BYTES_MAX): BufferPool {
  const free: Buffer[] = []
  let freeBytes = 0
  return {
    take(bytes) {
      const index = free.findIndex(each => each.length >= bytes)
      const [found] = index < 0 ? [] : free.splice(index, 1)
      freeBytes -= found?.length ?? 0
      return found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    },
    release(buffer) {
      if (freeBytes + buffer.length > freeBytesMax) return
      freeBytes += buffer.length
      free.push(buffer)
    },
  }
}

/** Caches a result for as long as its argument lives. */
export function memoizePerObject<T extends object, R>(make: (from: T) => R): (from: T) => R {
  const results = new WeakMap<T, R>()
  return from => {
    const known = results.get(from)
    if (known !== undefined) return known
    const result = make(from)
    results.set(from, result)
    return result
  }
}

const OPENING = '{"items":['
const UTF8_BYTES_MAX = 3
const pool = bufferPool()

/** A list whose items are JSON in two parts each, followed by further fields. */
export function jsonPage(items: readonly (readonly [Buffer, string])[], further: object): Bytes {
  const end = `],${JSON.stringify(further).slice(1)}`
  let most = OPENING.length + end.length * UTF8_BYTES_MAX
  for (const [head, tail] of items) most += head.length + tail.length * UTF8_BYTES_MAX + 1
  const page = pool.take(most)
  let length = page.write(OPENING)
  for (const [place, [head, tail]] of items.entries()) {
    if (place > 0) length += page.write(',', length)
    length += head.copy(page, length)
    length += page.write(tail, length)
  }
  length += page.write(end, length)
  return { data: page.subarray(0, length), done: () => pool.release(page) }
}

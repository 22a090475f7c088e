const KEPT_BYTES_MAX = 8 * 1024 * 1024
const STEP_BYTES = 64 * 1024

/** Memory for large answers, used again and again: to take it anew for each would keep the collector at work. */
export interface BufferPool {
  take(bytes: number): Buffer
  /** Nobody reads this any more. What is never given back is not used again. */
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

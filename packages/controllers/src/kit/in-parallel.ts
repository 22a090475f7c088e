/** Does the work for all items, so many at once, and begins nothing more once `signal` has aborted. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const hand = async () => {
    for (const item of waiting) {
      if (signal.aborted) return
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, hand))
}

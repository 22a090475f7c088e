import { systemClock } from '@lcm/runtime/clock'

const PATIENCE_MS = 15_000
const LOOK_EVERY_MS = 5

/** Looks until it finds something, for a bounded time; answers what and after how many milliseconds. */
export async function eventually<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  patienceMs = PATIENCE_MS,
): Promise<{ readonly found: T; readonly tookMs: number }> {
  const begunAtMs = systemClock.monotonic()
  for (;;) {
    const found = await look()
    const tookMs = systemClock.monotonic() - begunAtMs
    if (found !== null && found !== undefined && found !== false) return { found, tookMs }
    if (tookMs > patienceMs) throw new Error(`${what} did not happen within ${patienceMs} ms`)
    await systemClock.sleep(LOOK_EVERY_MS)
  }
}

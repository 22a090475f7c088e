import { systemClock } from '@lcm/runtime/clock'

const TIMEOUT_MS = 15_000
const POLL_MS = 5

/** Polls until `read` returns a value, for a bounded time; returns it and the elapsed milliseconds. */
export async function eventually<T>(
  what: string,
  read: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  timeoutMs = TIMEOUT_MS,
): Promise<{ readonly found: T; readonly tookMs: number }> {
  const begunAtMs = systemClock.monotonic()
  for (;;) {
    const found = await read()
    const tookMs = systemClock.monotonic() - begunAtMs
    if (found !== null && found !== undefined && found !== false) return { found, tookMs }
    if (tookMs > timeoutMs) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await systemClock.sleep(POLL_MS)
  }
}

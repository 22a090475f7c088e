import type { Clock } from '@lcm/runtime/clock'

/** Default timeout for each check. */
export const TIMEOUT_MS_DEFAULT = 5_000

/** Runs with a timeout. Returns null when it expires; `run` is aborted, but not awaited. */
export async function withTimeout<T>(
  clock: Clock,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
  ms: number,
): Promise<T | null> {
  outer.throwIfAborted()
  const ending = new AbortController()
  const end = () => ending.abort(outer.reason)
  outer.addEventListener('abort', end)
  const late = new Promise<null>((resolve, reject) => {
    ending.signal.addEventListener('abort', () => (outer.aborted ? reject(outer.reason) : resolve(null)))
  })
  const cancel = clock.after(ms, () => ending.abort())
  try {
    return await Promise.race([run(ending.signal), late])
  } finally {
    cancel()
    outer.removeEventListener('abort', end)
    late.catch(() => undefined)
  }
}

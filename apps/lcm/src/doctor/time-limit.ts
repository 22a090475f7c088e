import type { Clock } from '@lcm/runtime/clock'

/** What takes longer is not waited for. */
export const PATIENCE_MS_DEFAULT = 5_000

/** Null when there was no answer in time. The signal tells `run` to end, and nobody waits for one that does not. */
export async function inTime<T>(
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

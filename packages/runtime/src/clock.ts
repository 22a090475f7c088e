/** Source of time for everything that waits, measures or schedules. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. It may jump: never use it for a deadline. */
  now(): number
  /** Monotonic milliseconds, for deadlines and durations. */
  monotonic(): number
  /** Calls `run` once after `ms`; the result cancels it and may be called at any time. */
  after(ms: number, run: () => void): () => void
  /** Resolves after `ms`, or as soon as `signal` aborts. It never rejects, so loops test the signal themselves. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longer waits would overflow the 32-bit timer and fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, ms), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
}

/** `sleep` based on `after`, for every clock. Listeners are removed, so a long-lived signal collects none. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = clock.after(ms, wake)
    signal?.addEventListener('abort', wake)
  })
}

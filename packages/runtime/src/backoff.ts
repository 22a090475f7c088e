/** Delay after a failure that follows `retries` failures in a row. */
export type Backoff = (retries: number) => number

export interface BackoffOptions {
  readonly baseMs: number
  readonly multiplier: number
  readonly maxMs: number
  /** Largest share to subtract, 0 to 1. Jitter never adds, so that `maxMs` holds. */
  readonly jitter?: number
  /** Returns 0 to 1; needed only for jitter. */
  readonly random?: () => number
}

/** `min(base x multiplier^retries, max)`: 1, 2, 4, 8, 16, 32, 60 s by default. */
export function exponentialBackoff(options: Partial<BackoffOptions> = {}): Backoff {
  const { baseMs = 1_000, multiplier = 2, maxMs = 60_000, jitter = 0, random = () => 0 } = options
  return retries => Math.min(baseMs * multiplier ** retries, maxMs) * (1 - jitter * random())
}

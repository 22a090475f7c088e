import type { Clock } from '@lcm/runtime/clock'

export interface StaleWhileRevalidate<T> {
  get(): Promise<T>
  /** Loads again, unless the last load is recent. */
  renew(): Promise<T>
}

export interface Freshness {
  /** Younger values are used without a load. */
  readonly freshMs: number
  /** Younger values are used when a load fails. */
  readonly staleMs: number
  /** Minimum time between two successful loads. */
  readonly renewMs: number
  /** Minimum time between a failed load and the next. */
  readonly retryMs: number
}

/** A value that is loaded on first use and again when it is stale. One load at a time. */
export function staleWhileRevalidate<T>(
  clock: Clock,
  load: () => Promise<T>,
  freshness: Freshness,
): StaleWhileRevalidate<T> {
  let loaded: { value: T; atMs: number } | null = null
  let failure: { error: unknown; atMs: number } | null = null
  let loading: Promise<T> | null = null
  const ageOf = ({ atMs }: { atMs: number }) => clock.monotonic() - atMs

  async function reload(): Promise<T> {
    const atMs = clock.monotonic()
    try {
      const value = await load()
      loaded = { value, atMs }
      failure = null
      return value
    } catch (error) {
      failure = { error, atMs: clock.monotonic() }
      throw error
    }
  }

  async function renew(): Promise<T> {
    if (loading) return loading
    if (failure && ageOf(failure) < freshness.retryMs) throw failure.error
    if (loaded && ageOf(loaded) < freshness.renewMs) return loaded.value
    loading = reload().finally(() => {
      loading = null
    })
    return loading
  }

  return {
    renew,
    async get() {
      if (loaded && ageOf(loaded) < freshness.freshMs) return loaded.value
      const old = loaded && ageOf(loaded) < freshness.staleMs ? loaded : null
      const renewed = renew()
      if (old === null) return renewed
      const valueOrOld = renewed.catch(() => old.value)
      // While the source is known to be unreachable, callers get the stale value at once.
      return failure === null ? valueOrOld : old.value
    },
  }
}

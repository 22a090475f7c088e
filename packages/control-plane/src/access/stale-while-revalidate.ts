import type { Clock } from '@lcm/runtime/clock'

export interface StaleWhileRevalidate<T> {
  get(): Promise<T>
  /** Loads again, unless that was done a moment ago. */
  renew(): Promise<T>
}

export interface Freshness {
  /** Younger than this it is used without asking. */
  readonly freshMs: number
  /** Younger than this it is used when asking fails. */
  readonly staleMs: number
  /** The least time between two loads that worked, however often it is asked to renew. */
  readonly renewMs: number
  /** The least time between a load that failed and the next. */
  readonly retryMs: number
}

/** A value that is loaded from elsewhere when it is first needed and again when it is old. One load at a time. */
export function staleWhileRevalidate<T>(
  clock: Clock,
  load: () => Promise<T>,
  freshness: Freshness,
): StaleWhileRevalidate<T> {
  let kept: { value: T; atMs: number } | null = null
  let failure: { error: unknown; atMs: number } | null = null
  let loading: Promise<T> | null = null
  const ageOf = ({ atMs }: { atMs: number }) => clock.monotonic() - atMs

  async function reload(): Promise<T> {
    const atMs = clock.monotonic()
    try {
      const value = await load()
      kept = { value, atMs }
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
    if (kept && ageOf(kept) < freshness.renewMs) return kept.value
    loading = reload().finally(() => {
      loading = null
    })
    return loading
  }

  return {
    renew,
    async get() {
      if (kept && ageOf(kept) < freshness.freshMs) return kept.value
      const old = kept && ageOf(kept) < freshness.staleMs ? kept : null
      const renewed = renew()
      if (old === null) return renewed
      const valueOrOld = renewed.catch(() => old.value)
      // Once it is known to be out of reach, nobody waits for it.
      return failure === null ? valueOrOld : old.value
    },
  }
}

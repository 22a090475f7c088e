import type { Clock } from '@lcm/runtime'

/** Token sent with every call when etcd has authentication enabled. Fetched on demand, dropped when rejected. */
export interface AuthTokenCache {
  current(): Promise<string | undefined>
  /** Called with the token that etcd rejected. Returns whether a retry may succeed. */
  drop(refused: string | undefined): boolean
}

export const noAuthToken: AuthTokenCache = { current: async () => undefined, drop: () => false }

/** A token this young was not rejected because of its age; checking a password costs etcd a tenth of a second. */
const YOUNG_MS = 1_000

interface Held {
  readonly token: Promise<string>
  value: string | undefined
  readonly fetchedAtMs: number
}

export function authTokenCache(clock: Clock, fetchToken: () => Promise<string>): AuthTokenCache {
  let held: Held | undefined
  const hold = (): Held => {
    const fresh: Held = { token: fetchToken(), value: undefined, fetchedAtMs: clock.monotonic() }
    fresh.token.then(
      token => {
        fresh.value = token
      },
      () => {
        if (held === fresh) held = undefined
      },
    )
    return fresh
  }
  return {
    current() {
      held ??= hold()
      return held.token
    },
    drop(refused) {
      if (held === undefined || held.value !== refused) return true
      if (clock.monotonic() - held.fetchedAtMs < YOUNG_MS) return false
      held = undefined
      return true
    },
  }
}

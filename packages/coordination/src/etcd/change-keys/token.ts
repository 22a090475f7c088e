import type { Clock } from '@lcm/runtime'

/** The token that goes with every call once etcd asks for a user. Fetched when needed, dropped when refused. */
export interface TokenKeeper {
  current(): Promise<string | undefined>
  /** Called with the token that etcd refused. Answers whether another one may do better. */
  drop(refused: string | undefined): boolean
}

export const withoutToken: TokenKeeper = { current: async () => undefined, drop: () => false }

/** A token this young was not refused for its age; checking a password costs etcd a tenth of a second. */
const YOUNG_MS = 1_000

interface Held {
  readonly token: Promise<string>
  value: string | undefined
  readonly fetchedAtMs: number
}

export function tokenKeeper(clock: Clock, fetchToken: () => Promise<string>): TokenKeeper {
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

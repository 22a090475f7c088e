import { createHash, timingSafeEqual } from 'node:crypto'
import type { Actor } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'
import type { Clock } from '@lcm/runtime/clock'
import { boundedMap } from './rate-limiter.ts'

/** Longest time that a revoked token still works on other replicas. */
const CACHE_MS = 1_000
const CACHE_MAX = 1_000
/** Format of `POST /tokens`; other secrets are refused without a store read. */
const STORED_SECRET = /^lcm_[\w-]{43}$/
const STORED_ID = 'token:'

interface Lookup {
  readonly token: Promise<Token | null>
  readonly sinceMs: number
}

export interface BearerTokens {
  grant(secret: string, actor: Actor): void
  granted(secret: string): Actor | null
  stored(secret: string): Promise<Actor | null>
  /** Key that ties logins to an actor; null when the actor is unknown. */
  keyOf(actorId: string): Promise<string | null>
  /** Drops the cache after a token was deleted in this process. */
  forget(): void
}

/** Tokens from the start of the process and tokens in the store. The lookup is by hash, so its timing reveals nothing. */
export function bearerTokens(options: {
  clock: Clock
  findToken: (secret: string) => Promise<Token | null>
  getToken: (id: string) => Promise<Token | null>
}): BearerTokens {
  const { clock } = options
  const actors = new Map<string, Actor>()
  const keys = new Map<string, string>()
  const lookups = boundedMap<Lookup>(CACHE_MAX)

  async function cached(name: string, read: () => Promise<Token | null>): Promise<Token | null> {
    const known = lookups.get(name)
    if (known && clock.monotonic() - known.sinceMs < CACHE_MS) return unlessExpired(await known.token)
    const lookup = { token: read(), sinceMs: clock.monotonic() }
    lookups.set(name, lookup)
    try {
      return unlessExpired(await lookup.token)
    } catch (error) {
      if (lookups.get(name) === lookup) lookups.delete(name)
      throw error
    }
  }

  const unlessExpired = (token: Token | null): Token | null =>
    token === null || (token.expires_at !== null && toMs(token.expires_at) <= clock.now()) ? null : token

  return {
    grant(secret, actor) {
      const hash = sha256(secret)
      actors.set(hash, actor)
      keys.set(actor.id, sha256(hash).slice(0, 16))
    },
    granted: secret => actors.get(sha256(secret)) ?? null,
    async stored(secret) {
      if (!STORED_SECRET.test(secret)) return null
      const token = await cached(sha256(secret), () => options.findToken(secret))
      return token && actorOf(token)
    },
    async keyOf(actorId) {
      const key = keys.get(actorId)
      if (key !== undefined) return key
      if (!actorId.startsWith(STORED_ID)) return null
      const id = actorId.slice(STORED_ID.length)
      return (await cached(actorId, () => options.getToken(id)))?.id ?? null
    },
    forget: () => lookups.clear(),
  }
}

const actorOf = ({ id, name, role, service }: Token): Actor => ({ id: `${STORED_ID}${id}`, name, role, service })

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Compares digests in constant time, so timing reveals nothing about the secrets. */
export const sameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())

export const randomText = (randomBytes: (size: number) => Uint8Array, bytes: number): string =>
  Buffer.from(randomBytes(bytes)).toString('base64url')

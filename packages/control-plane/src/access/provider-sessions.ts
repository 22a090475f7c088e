import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection } from '@lcm/store/store'
import type { Sealing } from '../crypto.ts'
import type { BrowserSession } from '../internal-documents.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import type { IdentityProvider, SignedIn } from './identity-provider.ts'

/** Time between two questions to the provider about a session. */
const CHECK_MS = 5 * 60_000
/** Life of a session since the provider last confirmed it. */
const CONFIRMED_MS = 60 * 60_000
const SESSION_MS = 12 * 60 * 60_000

export interface ProviderSessions {
  /** Stores a session and returns the cookie of its browser. */
  begin(request: ApiRequest, signedIn: SignedIn): Promise<string>
  /** The session as the provider confirms it; null once it has ended. While the provider is silent it stays as it was. */
  current(session: BrowserSession): Promise<BrowserSession | null>
}

/** Keeps the sessions of the identity provider in step with it. */
export function providerSessions(parts: {
  clock: Clock
  provider: IdentityProvider | null
  browserSessions: BrowserSessions
  sessions: Collection<BrowserSession>
  sealing: Sealing
}): ProviderSessions {
  const { clock, provider, browserSessions, sessions, sealing } = parts
  const now = () => toInstant(clock.now())
  const confirmedUntil = (createdAt: string) =>
    toInstant(Math.min(clock.now() + CONFIRMED_MS, toMs(createdAt) + SESSION_MS))

  /** Only one request asks the provider: a second use of a refresh token would end the session there. */
  async function claim(session: BrowserSession, grant: Grant): Promise<BrowserSession | null> {
    if (clock.now() - toMs(grant.checked_at) < CHECK_MS) return null
    const claimed = { ...session, version: session.version + 1, provider: { ...grant, checked_at: now() } }
    return (await sessions.replace(claimed)).ok ? claimed : null
  }

  async function ask(from: IdentityProvider, claimed: BrowserSession, grant: Grant) {
    const { subject, sealed_refresh_token: sealed } = grant
    const refreshToken = sealed === null ? null : sealing.open(sealed, PURPOSE)
    if (refreshToken === null) return claimed
    const answer = await from.refresh(refreshToken, subject)
    if (answer.kind === 'silent') return claimed
    if (answer.kind === 'ended') {
      await browserSessions.end(claimed.id, null, answer.because)
      return null
    }
    const confirmed = {
      ...claimed,
      version: claimed.version + 1,
      expires_at: confirmedUntil(claimed.created_at),
      actor: { ...claimed.actor, ...(answer.actor === null ? {} : fieldsOf(answer.actor)) },
      provider: { ...grant, checked_at: now(), sealed_refresh_token: seal(answer.refreshToken ?? refreshToken) },
    }
    // A person who signs out meanwhile stays signed out.
    return (await sessions.replace(confirmed)).ok ? confirmed : null
  }

  const seal = (refreshToken: string): string => sealing.seal(refreshToken, PURPOSE)

  return {
    begin(request, { issuer, subject, sid, refreshToken, actor }) {
      const sealed_refresh_token = refreshToken === null ? null : seal(refreshToken)
      return browserSessions.begin(request, {
        actor,
        signed_in_by: 'provider',
        credential: '',
        lifeMs: CONFIRMED_MS,
        provider: { issuer, subject, sid, sealed_refresh_token, checked_at: now() },
      })
    },
    async current(session) {
      const { provider: grant } = session
      if (grant === null || provider === null || provider.issuer !== grant.issuer) return null
      if (grant.sealed_refresh_token === null) return session
      const claimed = await claim(session, grant)
      return claimed === null ? session : ask(provider, claimed, grant)
    },
  }
}

const fieldsOf = ({ name, role }: Actor) => ({ name, role })

type Grant = NonNullable<BrowserSession['provider']>
const PURPOSE = 'refresh token'

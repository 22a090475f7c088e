import type { ApiRequest } from '@lcm/contract/route-spec'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Sealing } from '../crypto.ts'
import type { BrowserSession } from '../internal-documents.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import type { IdentityProvider, SignedIn } from './identity-provider.ts'
import type { RecordedPerson } from './provider-people.ts'

/** Time between two questions to the provider about a session. */
const CHECK_MS = 5 * 60_000
/** Life of a session since the provider last confirmed it. */
const CONFIRMED_MS = 60 * 60_000
/** Longest time that a request waits for the provider. An open stream whose access ends meanwhile must end within five seconds. */
const WAIT_MS = 500
const SESSION_MS = 12 * 60 * 60_000

export interface ProviderSessions {
  /** Stores a session and returns the cookie of its browser. */
  begin(request: ApiRequest, signedIn: SignedIn<RecordedPerson>): Promise<string>
  /** The session as the provider confirms it; null once it has ended. While the provider is silent it stays as it was. */
  current(session: BrowserSession): Promise<BrowserSession | null>
}

/** Keeps the sessions of the identity provider in step with it. */
export function providerSessions(parts: {
  clock: Clock
  provider: IdentityProvider<RecordedPerson> | null
  browserSessions: BrowserSessions
  sealing: Sealing
}): ProviderSessions {
  const { clock, provider, browserSessions, sealing } = parts
  const now = () => toInstant(clock.now())
  const confirmedUntil = (createdAt: string) =>
    toInstant(Math.min(clock.now() + CONFIRMED_MS, toMs(createdAt) + SESSION_MS))

  /** Only one request asks the provider: a second use of a refresh token would end the session there. */
  async function claim(session: BrowserSession, grant: Grant): Promise<BrowserSession | null> {
    const claimed = { ...session, version: session.version + 1, provider: { ...grant, checked_at: now() } }
    return (await browserSessions.replace(claimed)) ? claimed : null
  }

  async function ask(
    from: IdentityProvider<RecordedPerson>,
    claimed: BrowserSession,
    { grant, refreshToken }: Question,
  ) {
    const answer = await from.refresh(refreshToken, grant.subject)
    if (answer.kind === 'silent') return claimed
    if (answer.kind === 'ended') {
      await browserSessions.end(claimed.id, null, answer.because)
      return null
    }
    const confirmed = {
      ...claimed,
      version: claimed.version + 1,
      expires_at: confirmedUntil(claimed.created_at),
      ...(answer.person === null ? {} : signInOf(answer.person)),
      provider: { ...grant, checked_at: now(), sealed_refresh_token: seal(answer.refreshToken ?? refreshToken) },
    }
    // A person who signs out meanwhile stays signed out.
    return (await browserSessions.replace(confirmed)) ? confirmed : null
  }

  /** A session goes on with a new role that the provider itself confirms. */
  const signInOf = ({
    actor: { id, name, role },
    credential,
  }: RecordedPerson): Pick<BrowserSession, 'actor' | 'credential'> => ({ actor: { id, name, role }, credential })

  const seal = (refreshToken: string): string => sealing.seal(refreshToken, PURPOSE)

  return {
    async begin(request, { issuer, subject, sid, refreshToken, person }) {
      const sealed_refresh_token = refreshToken === null ? null : seal(refreshToken)
      return browserSessions.begin(request, {
        ...person,
        signed_in_by: 'provider',
        lifeMs: CONFIRMED_MS,
        provider: { issuer, subject, sid, sealed_refresh_token, checked_at: now() },
      })
    },
    async current(session) {
      const { provider: grant } = session
      if (grant === null || provider === null || provider.issuer !== grant.issuer) return null
      const { sealed_refresh_token: sealed, checked_at } = grant
      if (sealed === null || clock.now() - toMs(checked_at) < CHECK_MS) return session
      const refreshToken = sealing.open(sealed, PURPOSE)
      // Another replica may have the key. If it was removed, the session ends within the hour.
      if (refreshToken === null) return session
      const claimed = await claim(session, grant)
      return claimed === null ? session : inTime(clock, ask(provider, claimed, { grant, refreshToken }), session)
    },
  }
}

type Grant = NonNullable<BrowserSession['provider']>
interface Question {
  readonly grant: Grant
  readonly refreshToken: string
}
const PURPOSE = 'refresh token'

/** The old session if the answer is late; the answer then counts for the next request. */
async function inTime(clock: Clock, answer: Promise<BrowserSession | null>, old: BrowserSession) {
  let cancel = (): void => undefined
  const late = new Promise<BrowserSession>(resolve => {
    cancel = clock.after(WAIT_MS, () => resolve(old))
  })
  return Promise.race([answer, late]).finally(cancel)
}

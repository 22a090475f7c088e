import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { z } from 'zod'

export const REAL_AUDIENCE = 'https://lcm.example/api'
export const REAL_CLIENT = 'lcm-console'

const Exchange = z.object({ access_token: z.string() })

/** Receives the logout tokens of the provider. */
type SendLogout = (logoutToken: string) => Promise<number>

/** A certified OpenID provider on loopback that accepts any password. Accounts are named after their role; `no-role` has none. */
export async function realProvider(redirectUri: string, sendLogout: SendLogout) {
  const withoutRole = new Set(['no-role'])
  const removed = new Set<string>()
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = {
    rolesOf: (account: string) => (withoutRole.has(account) ? [] : ['offline_access', account]),
    removed,
  }
  const provider = new Provider(issuer, configuration(redirectUri, people, sendLogout))
  server.on('request', provider.callback())
  return {
    issuer,
    close() {
      server.close()
      server.closeAllConnections()
    },
    takeRole: (account: string) => void withoutRole.add(account),
    remove: (account: string) => void removed.add(account),
    /** Tells LCM that a session has ended. */
    async logOut(account: string, sid: string): Promise<void> {
      await (await provider.Client.find(REAL_CLIENT))?.backchannelLogout(account, sid)
    },
    /** Follows redirects, fills in the forms and returns the address that the browser is sent back to. */
    signIn: (url: string, account: string) => signIn(url, account, redirectUri),
    /** Access token of a command line after the same login. */
    async accessToken(code: string, verifier: string): Promise<string> {
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier, client_id: REAL_CLIENT }
      const body = new URLSearchParams({ ...form, redirect_uri: redirectUri })
      const answer = await fetch(`${issuer}/token`, { method: 'POST', body })
      return Exchange.parse(await answer.json()).access_token
    },
  }
}

interface People {
  rolesOf(account: string): string[]
  readonly removed: ReadonlySet<string>
}

const configuration = (redirectUri: string, { rolesOf, removed }: People, sendLogout: SendLogout) => ({
  clients: [
    {
      client_id: REAL_CLIENT,
      token_endpoint_auth_method: 'none',
      redirect_uris: [redirectUri],
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      backchannel_logout_uri: new URL('/login/provider-logout', redirectUri).href,
      backchannel_logout_session_required: true,
    },
  ],
  cookies: { keys: ['for the test'] },
  ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  claims: { profile: ['preferred_username', 'roles'], email: ['email'] },
  conformIdTokenClaims: false,
  issueRefreshToken: async () => true,
  fetch: async (_: URL, { body }: { body: URLSearchParams | string }) => {
    const status = await sendLogout(new URLSearchParams(body).get('logout_token') ?? '')
    return new Response(null, { status })
  },
  findAccount: async (_: object, id: string) =>
    removed.has(id)
      ? undefined
      : { accountId: id, claims: async () => ({ sub: `sub-${id}`, preferred_username: id, roles: rolesOf(id) }) },
  extraTokenClaims: async (_: object, { accountId }: { accountId: string }) => ({
    preferred_username: accountId,
    roles: rolesOf(accountId),
  }),
  features: {
    devInteractions: { enabled: true },
    backchannelLogout: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => REAL_AUDIENCE,
      useGrantedResource: async () => true,
      getResourceServerInfo: async () => ({ scope: '', audience: REAL_AUDIENCE, accessTokenFormat: 'jwt' }),
    },
  },
})

async function signIn(url: string, account: string, until: string): Promise<string> {
  const jar = new Map<string, string>()
  let next: { url: string; body: URLSearchParams | null } = { url, body: null }
  for (let step = 0; step < 20; step++) {
    if (next.url.startsWith(until)) return next.url
    const response: Response = await fetch(next.url, {
      method: next.body === null ? 'GET' : 'POST',
      body: next.body,
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    const base = next.url
    next =
      location === null
        ? { url: base, body: filledIn(await response.text(), account) }
        : { url: new URL(location, base).href, body: null }
  }
  throw new Error('the provider did not send the browser back')
}

function filledIn(page: string, account: string): URLSearchParams {
  const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
  if (prompt === undefined) throw new Error(`the provider shows something else: ${page.slice(0, 2000)}`)
  return new URLSearchParams({ prompt, login: account, password: 'any' })
}

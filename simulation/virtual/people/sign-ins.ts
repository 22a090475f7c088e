import { createHash } from 'node:crypto'
import { apiClient } from '@lcm/client/client'
import type { PersonRole } from '@lcm/domain/person'
import { accessRights, type Right } from '../invariants/access/access-rights.ts'
import { sessionOwners } from '../invariants/access/session-owners.ts'
import { withClientRetries } from '../world/client-retries.ts'
import { TOKENS } from '../world/control-plane.ts'
import type { World } from '../world/world.ts'
import { accessChanges } from './access-changes.ts'
import { accessRequests, type Credential, currentOf, type Member } from './access-requests.ts'

/** Twice the limit of a minute. */
const WRONG_TOKENS = 40
const PREFIX_CHARS = 12
const TOKEN_CHARS = 47
/** Credentials are tried for so long after their end. */
const HELD_MS = 30_000

interface Obtained extends Pick<Credential, 'kind' | 'id' | 'secret'> {
  readonly from: Right | null
}

/** People with tokens and browsers, and what the API must not do with them. */
export function signInsOf(world: World) {
  const { now } = world.time.clock
  const { violated } = world.invariants
  const rights = accessRights({ now, violated })
  const owners = sessionOwners(world.store, violated)
  const requests = accessRequests(world, rights)
  const admin = apiClient(withClientRetries(world.toAnyApi, world.time.clock), { token: TOKENS.admin })
  const members: Member[] = []
  const known: { readonly member: Member; readonly credential: Credential }[] = []

  function obtain(holder: Member, { kind, id, secret, from }: Obtained): void {
    const member = currentOf(holder)
    const right = rights.begin(`${kind} ${id} of ${member.id}`, from)
    if (member.endings > 0) right.doubtfulUntilMs = Number.POSITIVE_INFINITY
    const operator = member.role === 'operator' ? rights.begin(`the role operator of ${right.name}`, right) : null
    const credential: Credential = { kind, id, secret, right, operator, streams: [], isFollowing: false }
    member.credentials.push(credential)
    known.push({ member, credential })
  }

  async function giveToken(member: Member): Promise<void> {
    const body = { name: 'laptop', role: member.role, person_id: member.id }
    const { id, secret } = await admin.call('createToken', { body })
    obtain(member, { kind: 'token', id, secret, from: null })
  }

  return {
    members,
    /** Everything that anyone holds, without what ended long ago. */
    held: () => known.filter(({ credential }) => now() - (credential.right.ended?.atMs ?? now()) < HELD_MS),
    check: owners.check,
    ...accessChanges({ apis: world.apis, admin, rights, owners, members }),
    giveToken,
    async join(name: string, role: PersonRole): Promise<void> {
      const { id } = await admin.call('createPerson', { body: { name, role, groups: [] } })
      const member: Member = { id, role, credentials: [], endings: 0, mergedInto: null }
      members.push(member)
      await giveToken(member)
    },
    async signIn(member: Member, credential: Credential): Promise<void> {
      const secret = await requests.signIn(credential)
      if (secret !== null) obtain(member, { kind: 'cookie', id: `by ${credential.id}`, secret, from: credential.right })
    },
    async makeLink(member: Member, token: Credential): Promise<void> {
      const response = await requests.use(token, 'POST login-links')
      if (response?.status !== 201) return
      const [, secret = ''] = JSON.parse(String(response.body)).url.split('code=')
      obtain(member, { kind: 'link', id: `by ${token.id}`, secret, from: token.right })
    },
    async signOut(cookie: Credential): Promise<void> {
      const settle = rights.end([cookie.right], 'the logout')
      settle((await requests.signOut(cookie)) ? 'done' : 'unknown')
    },
    /** One request as a user and one as an operator. */
    async probe(credential: Credential): Promise<void> {
      await requests.use(credential, 'GET info')
      if (credential.operator !== null) await requests.use(credential, 'GET people?limit=1', { asOperator: true })
    },
    follow: (credential: Credential) => follow(credential, { rights, requests }),
    async book(credential: Credential): Promise<void> {
      const json = { definition: 'one', duration_minutes: 30 }
      const response = await requests.use(credential, 'POST lablet-sessions', { json })
      if (response?.status !== 201) return
      const { id, owner } = JSON.parse(String(response.body))
      owners.booked(id, owner)
    },
    sendWrongTokens: () => Promise.all(wrongTokens(known, String(now())).map(requests.tryToken)),
  }
}

export type SignIns = ReturnType<typeof signInsOf>

/** Follows the events until the stream ends. */
async function follow(
  credential: Credential,
  parts: { rights: ReturnType<typeof accessRights>; requests: ReturnType<typeof accessRequests> },
): Promise<void> {
  if (credential.isFollowing) return
  credential.isFollowing = true
  const right = parts.rights.begin(`event stream of ${credential.right.name}`, credential.right)
  credential.streams.push(right)
  const response = await parts.requests.use(credential, 'GET events')
  if (response?.body && typeof response.body !== 'string')
    for await (const _ of response.body) parts.rights.delivered(right)
  credential.isFollowing = false
}

/** Half of them begin like a right token. */
function wrongTokens(known: readonly { readonly credential: Credential }[], seed: string): string[] {
  const right = known.flatMap(({ credential }) => (credential.kind === 'token' ? [credential.secret] : []))
  return Array.from({ length: WRONG_TOKENS }, (_, n) => {
    const prefix = (n % 2 === 0 ? right[n % right.length] : undefined)?.slice(0, PREFIX_CHARS) ?? 'lcm_'
    const random = createHash('sha512').update(`${seed} ${n}`).digest('base64url')
    return `${prefix}${random}`.slice(0, TOKEN_CHARS)
  })
}

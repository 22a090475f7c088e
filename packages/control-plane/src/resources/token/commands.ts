import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { commonRole, personIdOfToken } from '@lcm/domain/person'
import type { Token } from '@lcm/domain/token'
import type { Api, Request } from '../../api-context.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { newPerson } from '../person/new-person.ts'
import { endSignIns, refuseMerging } from '../person/person-access.ts'

const SECRET_BYTES = 32

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export async function createToken(
  api: Api,
  { body, actor, once }: Request<object, unknown, BodyOf<'createToken'>>,
): Promise<AnswerOf<'createToken'>> {
  const now = toInstant(api.clock.now())
  if (body.expires_at !== undefined && toMs(body.expires_at) <= api.clock.now()) {
    const errors = [{ path: 'body.expires_at', message: 'must be in the future' }]
    throw new ProblemError('validation_failed', `body.expires_at: must be after ${now}`, errors)
  }
  const secret = `lcm_${Buffer.from(api.randomBytes(SECRET_BYTES)).toString('base64url')}`
  const id = once?.resourceId ?? newId(api, 'tk')
  const person_id = await personFor(api, id, body, now)
  const token: Token = {
    id,
    version: 1,
    created_at: now,
    updated_at: now,
    name: body.name,
    person_id,
    role: body.role,
    service: body.service ?? null,
    expires_at: body.expires_at ?? null,
  }
  const { name, role, service } = token
  const entries = [auditEntry(actor, 'create', now, { after: { name, person_id, role, service } })]
  const result = await api.tokens.insert({ ...token, hash: hashOf(secret) }, entries)
  if (!result.ok) return withNewSecret(api, { ...token, secret }, once !== null)
  return { ...token, secret }
}

/** The named person, or a new one. Null for a controller. */
async function personFor(
  api: Api,
  tokenId: string,
  { person_id, name, role }: BodyOf<'createToken'>,
  now: Instant,
): Promise<string | null> {
  if (role === 'controller') return null
  if (person_id === undefined) {
    const id = personIdOfToken(tokenId)
    // A repeated request finds the person that the first one created.
    await api.people.insert(newPerson(id, { name, email: null, role, groups: [], source: 'token' }, now))
    return id
  }
  const person = await api.people.get(person_id)
  if (person === null) throw new ProblemError('person_not_found', `there is no person ${person_id}`)
  refuseMerging(person)
  if (commonRole(role, person.role) !== role)
    throw new ProblemError(
      'role_too_strong',
      `${person.name} has the role ${person.role}, so no token with the role ${role}`,
    )
  return person.id
}

/** A repeated request: its first secret was never received, so it is replaced. */
async function withNewSecret(api: Api, token: AnswerOf<'createToken'>, isRepeated: boolean): Promise<typeof token> {
  const existing = isRepeated ? await api.tokens.get(token.id) : null
  if (existing !== null) {
    const { updated_at, secret } = token
    const { hash: _, ...next } = { ...existing, version: existing.version + 1, updated_at }
    if ((await api.tokens.replace({ ...next, hash: hashOf(secret) })).ok) return { ...next, secret }
  }
  throw new ProblemError('store_unavailable', 'the new id was taken; try again')
}

export async function deleteToken(
  api: Api,
  { params, actor }: Request<{ id: string }, unknown, unknown>,
): Promise<null> {
  const token = await api.tokens.get(params.id)
  // A person who found the token may have signed in with it. Before, so that a crash leaves no sign-in; after, because there may
  // be another one meanwhile.
  const endOwn = async () => token?.person_id != null && (await nullOnConflict(endSignIns(api, token.person_id)))
  await endOwn()
  const entries = [auditEntry(actor, 'delete', toInstant(api.clock.now()), { before: { name: token?.name ?? '' } })]
  if (token === null || !(await api.tokens.remove(token, entries)).ok)
    throw new ProblemError('not_found', `there is no token ${params.id}`)
  await endOwn()
  return null
}

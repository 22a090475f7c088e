import { createHash } from 'node:crypto'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { ID_RANDOM_BYTES, makeId } from '@lcm/domain/id'
import { toInstant } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'
import type { Api } from '../api.ts'

const SECRET_BYTES = 32

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export async function createToken(api: Api, body: BodyOf<'createToken'>): Promise<AnswerOf<'createToken'>> {
  const now = toInstant(api.clock.now())
  const secret = `lcm_${Buffer.from(api.randomBytes(SECRET_BYTES)).toString('base64url')}`
  const token: Token = {
    id: makeId('tk', api.clock.now(), api.randomBytes(ID_RANDOM_BYTES)),
    version: 1,
    created_at: now,
    updated_at: now,
    name: body.name,
    role: body.role,
    service: body.service ?? null,
    expires_at: body.expires_at ?? null,
  }
  const result = await api.tokens.insert({ ...token, hash: hashOf(secret) })
  if (!result.ok) throw new ProblemError('store_unavailable', 'the new id was taken; try again')
  return { ...token, secret }
}

export async function deleteToken(api: Api, id: string): Promise<null> {
  const token = await api.tokens.get(id)
  if (token === null || !(await api.tokens.remove(token)).ok)
    throw new ProblemError('not_found', `there is no token ${id}`)
  return null
}

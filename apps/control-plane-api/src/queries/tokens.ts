import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import { Token } from '@lcm/domain/token'
import type { Api } from '../api.ts'
import { hashOf } from '../commands/tokens.ts'
import { pageOf } from './page.ts'

/** Without the hashes. */
export async function listTokens(api: Api, query: QueryOf<'listTokens'>): Promise<AnswerOf<'listTokens'>> {
  const page = await pageOf(api, api.tokens, query, {})
  return { ...page, items: page.items.map(token => Token.parse(token)) }
}

/** The token with this secret, unless it is over. Looked up by its hash, so the time it takes tells nothing about the secret. */
export async function findToken(api: Api, secret: string): Promise<Token | null> {
  const [token] = await api.tokens.list({ where: { hash: hashOf(secret) }, limit: 1 })
  if (token === undefined) return null
  return token.expires_at !== null && toMs(token.expires_at) <= api.clock.now() ? null : token
}

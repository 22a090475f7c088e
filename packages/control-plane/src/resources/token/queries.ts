import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import { Token } from '@lcm/domain/token'
import type { Api } from '../../api-context.ts'
import { listPage } from '../list-documents.ts'
import { hashOf } from './commands.ts'

/** Without the hashes. */
export async function listTokens(api: Api, query: QueryOf<'listTokens'>): Promise<AnswerOf<'listTokens'>> {
  const page = await listPage(api, api.tokens, query, {})
  return { ...page, items: page.items.map(token => Token.parse(token)) }
}

/** The unexpired token with this secret. The lookup is by hash, so its timing reveals nothing. */
export async function findToken(api: Api, secret: string): Promise<Token | null> {
  const [token] = await api.tokens.list({ where: { hash: hashOf(secret) }, limit: 1 })
  return token === undefined ? null : unlessOver(api, token)
}

const unlessOver = (api: Api, token: Token): Token | null =>
  token.expires_at !== null && toMs(token.expires_at) <= api.clock.now() ? null : token

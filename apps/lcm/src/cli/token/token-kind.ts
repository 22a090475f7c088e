import { readList } from '@lcm/client/list-pages'
import type { Token } from '@lcm/domain/token'
import { notThere, onlyOne } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { distanceOf } from '../session/session-view.ts'
import { ageOf } from '../worker/worker-view.ts'

const TOKEN_VIEW: ResourceView<Token> = {
  nameOf: token => token.name,
  columns: nowMs => [
    { title: 'NAME', text: token => token.name },
    { title: 'ID', text: token => token.id },
    { title: 'ROLE', text: token => token.role },
    { title: 'PERSON', text: token => token.person_id ?? '' },
    { title: 'SERVICE', text: token => token.service ?? '' },
    { title: 'EXPIRES', text: token => (token.expires_at === null ? 'never' : distanceOf(token.expires_at, nowMs)) },
    { title: 'AGE', text: token => ageOf(token.created_at, nowMs) },
  ],
  whenEmpty: 'no tokens found: create one with `lcm create token --role ROLE --name NAME`',
}

/** Polled, because tokens have no events. */
const READ_EVERY_MS = 15_000

export const TOKENS: Kind<Token> = {
  plural: 'tokens',
  singular: 'token',
  view: TOKEN_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, idOrName, signal) {
    const { items } = await TOKENS.list(client, true, signal)
    const named = items.filter(({ id, name }) => id === idOrName || name === idOrName)
    if (named.length === 0) throw notThere('token', idOrName, 'lcm get tokens')
    const line = ({ id, role, created_at }: Token) => `${id}  ${role}  ${created_at}`
    return onlyOne(named, { name: idOrName, singular: 'token', plural: 'tokens', isOver: () => false, line })
  },
  list: (client, _, signal) => readList(query => client.call('listTokens', { query, signal })),
  everyMs: READ_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}

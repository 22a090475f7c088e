import { ProblemError } from '@lcm/contract/problems'
import { mayModify, mayView } from '@lcm/contract/route-spec'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import { sessionFor } from '../../narrow-view.ts'
import { listPage, ownedWhere } from '../list-documents.ts'

export async function findSession(api: Api, id: string): Promise<LabletSession> {
  const session = await api.sessions.get(id)
  if (session === null) throw unknown(id)
  return session
}

const unknown = (id: string) => new ProblemError('not_found', `there is no session ${id}`)

/** Not found for another owner's session, so that its existence is not revealed. */
export async function getSession(api: Api, id: string, actor: Actor): Promise<LabletSession> {
  const session = await findSession(api, id)
  if (!mayView(actor, session.owner)) throw unknown(id)
  return session
}

/** The same for a change. */
export function refuseStranger(session: LabletSession, actor: Actor): void {
  if (!mayModify(actor, session.owner)) throw unknown(session.id)
}

export async function listSessions(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listSessions'>, unknown>,
): Promise<AnswerOf<'listSessions'>> {
  const { status, health, worker_id, definition, owner, include_finished } = query
  const where = ownedWhere(actor, { status, health, worker_id, definition, owner })
  const isHidden = !include_finished && status === undefined
  const page = await listPage(api, api.sessions, query, {
    where,
    ...(isHidden ? { whereNot: { is_over: 'yes' } } : {}),
  })
  return pageFor(actor, page)
}

export const listMySessions = async (
  api: Api,
  { query, actor }: Request<object, QueryOf<'listMySessions'>, unknown>,
): Promise<AnswerOf<'listMySessions'>> =>
  pageFor(actor, await listPage(api, api.sessions, query, { where: { owner: actor.id } }))

const pageFor = <P extends { readonly items: readonly LabletSession[] }>(actor: Actor, page: P) => ({
  ...page,
  items: page.items.map(session => sessionFor(actor, session)),
})

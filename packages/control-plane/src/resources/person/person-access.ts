import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import type { Instant } from '@lcm/domain/instant'
import { mayManage, type Person, type PersonRole } from '@lcm/domain/person'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'

export const personTarget = (api: Api, id: string) => ({ collection: api.people, id, noun: 'person' })

export function refuseUnmanaged(actor: Actor, roles: readonly PersonRole[]): void {
  if (mayManage(actor, roles)) return
  throw new ProblemError('forbidden', `${actor.name} is ${actor.role}, which manages authors and users only`)
}

export function refuseMerging({ name, merging_into }: Person): void {
  if (merging_into !== null) throw new ProblemError('person_merging', `${name} becomes part of ${merging_into}`)
}

/** Ends every sign-in of a person, also those that an unused login link would start. */
export const endSignIns = (
  api: Api,
  id: string,
  entries: (before: Person, now: Instant) => NewEntry[] = () => [],
): Promise<Person> =>
  changeDocument(personTarget(api, id), api.clock, null, (before, now) => ({
    document: { ...before, signed_out_at: now },
    entries: entries(before, now),
  }))

/** Returns how many there were. */
export async function removeTokens(api: Api, personId: string, actor: Actor, now: Instant): Promise<number> {
  const tokens = await listAll(api.tokens, { where: { person_id: personId } })
  for (const token of tokens)
    await api.tokens.remove(token, [auditEntry(actor, 'delete', now, { before: { name: token.name } })])
  return tokens.length
}

import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { afterSignIn, type Person, type PersonRole, type ProviderProfile, personIdOfToken } from '@lcm/domain/person'
import type { Api } from '../../api-context.ts'
import { SYSTEM_ACTOR } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry, STREAMS } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { newPerson } from './new-person.ts'
import { personTarget } from './person-access.ts'

/** Entries about a person that are searched for its removal, newest first. */
const REMOVALS_MAX = 1_000

/**
 * Creates or updates the record of someone as the identity provider described it at `since`. A description from before the record
 * was removed creates none.
 */
export async function recordSignIn(api: Api, id: string, profile: ProviderProfile, since: Instant): Promise<Person> {
  const actor = { id, name: profile.name, role: profile.role, service: null }
  const reason = 'according to the identity provider'
  if ((await api.people.get(id)) === null) {
    if (await wasRemoved(api, id, since))
      throw new ProblemError('unauthenticated', `${profile.name} was removed; sign in again`)
    const now = toInstant(api.clock.now())
    const person = newPerson(id, { ...profile, source: 'provider' }, now)
    const entry = auditEntry(actor, 'create', now, { after: profile, reason })
    if ((await api.people.insert(person, [entry])).ok) return person
  }
  return changeDocument(personTarget(api, id), api.clock, null, (before, now) => {
    const after = afterSignIn(before, profile, since)
    if (after === before) return null
    const { name, email, role, groups } = before
    const entry = auditEntry(actor, 'patch', now, { before: { name, email, role, groups }, after: profile, reason })
    return { document: after, entries: [entry] }
  })
}

async function wasRemoved(api: Api, id: string, since: Instant): Promise<boolean> {
  const later = { streams: [STREAMS.audit], subject: `person:${id}`, from: since, limit: REMOVALS_MAX }
  const entries = await api.store.journal.query(later)
  return entries.some(({ at, body }) => at > since && 'action' in body && body.action === 'delete')
}

/** Creates missing records: of built-in tokens, and of tokens that are older than people. Replicas may run it at once. */
export async function seedPeople(api: Api, builtIn: readonly Actor[]): Promise<void> {
  for (const { id, name, role } of builtIn) await seedPerson(api, id, { name, role, source: 'built-in' })
  for (const { id, name, role, person_id } of await listAll(api.tokens))
    if (person_id === personIdOfToken(id)) await seedPerson(api, person_id, { name, role, source: 'token' })
}

async function seedPerson(
  api: Api,
  id: string,
  { role, ...fields }: Pick<Person, 'name' | 'source'> & { readonly role: Actor['role'] },
): Promise<void> {
  if (role === 'controller' || (await api.people.get(id)) !== null) return
  const now = toInstant(api.clock.now())
  const personRole: PersonRole = role
  const person = newPerson(id, { ...fields, role: personRole, email: null, groups: [] }, now)
  const entry = auditEntry(SYSTEM_ACTOR, 'create', now, {
    after: { name: fields.name, role },
    reason: 'owner of a token',
  })
  await api.people.insert(person, [entry])
}

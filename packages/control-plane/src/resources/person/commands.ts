import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { type Person, refusalOfPatch } from '@lcm/domain/person'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { removeQuota } from '../quota/change-quota.ts'
import { removeSave, sessionThatNeeds } from '../save/delete-save.ts'
import { newPerson } from './new-person.ts'
import { endSignIns, personTarget, refuseMerging, refuseUnmanaged, removeTokens } from './person-access.ts'
import { getPerson } from './queries.ts'

type PersonRequest<B = unknown> = Request<{ id: string }, unknown, B>

export async function createPerson(
  api: Api,
  { body, actor, once }: Request<object, unknown, BodyOf<'createPerson'>>,
): Promise<Person> {
  refuseUnmanaged(actor, [body.role])
  const now = toInstant(api.clock.now())
  const person = newPerson(once?.resourceId ?? newId(api, 'pe'), { ...body, source: 'operator' }, now)
  const result = await api.people.insert(person, [auditEntry(actor, 'create', now, { after: body })])
  const existing = result.ok ? person : once === null ? null : await api.people.get(person.id)
  if (existing === null) throw new ProblemError('store_unavailable', 'the new id was taken; try again')
  return existing
}

const REFUSED: Readonly<Record<NonNullable<ReturnType<typeof refusalOfPatch>>, (person: Person) => string>> = {
  managed_by_provider: ({ name }) =>
    `${name} comes from the identity provider, which sets name, email, role and groups`,
  person_built_in: ({ name }) => `${name} owns the administrator token, so name and role stay`,
}

export function patchPerson(
  api: Api,
  { params, body, actor, ifMatch }: PersonRequest<BodyOf<'patchPerson'>>,
): Promise<Person> {
  return changeDocument(personTarget(api, params.id), api.clock, ifMatch, (person, now) => {
    const { name = person.name, email = person.email, role = person.role, groups = person.groups } = body
    refuseUnmanaged(actor, [person.role, role])
    refuseMerging(person)
    const refusal = refusalOfPatch(person, body)
    if (refusal !== null) throw new ProblemError(refusal, REFUSED[refusal](person))
    const after = { name, email, role, groups }
    const before = { name: person.name, email: person.email, role: person.role, groups: person.groups }
    if (JSON.stringify(before) === JSON.stringify(after)) return null
    const signed_out_at = role === person.role ? person.signed_out_at : now
    return {
      document: { ...person, ...after, signed_out_at },
      entries: [auditEntry(actor, 'patch', now, { before, after })],
    }
  })
}

const NAMED_MAX = 3

async function refuseOpenSessions(api: Api, { id, name }: Person): Promise<void> {
  const open = await listAll(api.sessions, { where: { owner: id, is_over: 'no' } })
  if (open.length === 0) return
  const shown = open.slice(0, NAMED_MAX).map(session => session.id)
  const ids = open.length > shown.length ? `such as ${shown.join(', ')}` : shown.join(', ')
  const [count, them] = open.length === 1 ? ['1 open session', 'it'] : [`${open.length} open sessions`, 'them']
  const advice = `Cancel ${them} with \`lcm cancel session\`, or give ${them} to another person with \`lcm merge person\``
  throw new ProblemError('person_has_sessions', `${name} has ${count}: ${ids}. ${advice}`)
}

export async function removePerson(api: Api, { params, actor, ifMatch }: PersonRequest): Promise<null> {
  const person = await getPerson(api, params.id)
  refuseUnmanaged(actor, [person.role])
  refuseStale(person, ifMatch)
  refuseMerging(person)
  if (person.source === 'built-in')
    throw new ProblemError('person_built_in', `${person.name} owns the administrator token and stays`)
  const merging = await api.people.list({ where: { merging_into: person.id }, limit: 1 })
  if (merging[0] !== undefined)
    throw new ProblemError('person_merging', `${merging[0].name} is being merged into ${person.name}; try again later`)
  await refuseOpenSessions(api, person)
  const now = toInstant(api.clock.now())
  // First: a token of before there were people creates the record of its person at the next start.
  await removeTokens(api, person.id, actor, now)
  const { name, role } = person
  if (!(await api.people.remove(person, [auditEntry(actor, 'delete', now, { before: { name, role } })])).ok)
    throw new ProblemError('version_mismatch', `${name} was changed meanwhile: read it again`)
  await removeQuota(api, person.id)
  await removeSavesOf(api, person.id)
  return null
}

/** A save that an open session of another person needs goes with its retention. */
async function removeSavesOf(api: Api, owner: string): Promise<void> {
  for (const save of await listAll(api.saves, { where: { owner } }))
    if ((await sessionThatNeeds(api, save)) === null) await removeSave(api, save)
}

export async function revokePerson(api: Api, { params, actor }: PersonRequest): Promise<Person> {
  const { id, role } = await getPerson(api, params.id)
  refuseUnmanaged(actor, [role])
  const tokens = await removeTokens(api, id, actor, toInstant(api.clock.now()))
  return endSignIns(api, id, (before, now) => [
    auditEntry(actor, 'revoke', now, {
      before: { tokens, signed_out_at: before.signed_out_at },
      after: { tokens: 0, signed_out_at: now },
    }),
  ])
}

/** The person that a login link signs in as. The record stays as it is, so only the journal is written. */
export async function invitedPerson(api: Api, { params, actor, origin }: PersonRequest): Promise<Actor> {
  const person = await getPerson(api, params.id)
  const { id, name, role } = person
  refuseUnmanaged(actor, [role])
  refuseMerging(person)
  // A stolen browser session could renew itself with such links.
  if (id === actor.id) throw new ProblemError('forbidden', 'a link for yourself needs your token: lcm open')
  if (person.source === 'provider')
    throw new ProblemError('managed_by_provider', `${name} signs in with the identity provider`)
  const subject = `person:${id}`
  const entry = auditEntry(actor, 'invite', toInstant(api.clock.now()), { after: origin })
  const entryId = `${subject}:invite:${Buffer.from(api.randomBytes(8)).toString('hex')}`
  await api.store.journal.append([{ ...entry, id: entryId, subject }])
  return { id, name, role, service: null }
}

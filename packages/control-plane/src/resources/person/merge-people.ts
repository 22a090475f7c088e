import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Person } from '@lcm/domain/person'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { moveQuota, removeQuota } from '../quota/change-quota.ts'
import { changeSession } from '../session/change-session.ts'
import { personTarget, refuseMerging, refuseUnmanaged } from './person-access.ts'
import { getPerson } from './queries.ts'

/** Longer than the cache of any replica and the longest request: afterwards the person owns nothing new. */
const SETTLE_MS = 60_000

/**
 * Marks the person, which ends its access, and moves its sessions, saves, tokens and quota. Housekeeping moves what a crash or a concurrent
 * request left, and removes the record.
 */
export async function mergePerson(
  api: Api,
  { params, body, actor }: Request<{ id: string }, unknown, BodyOf<'mergePerson'>>,
): Promise<Person> {
  const from = await getPerson(api, params.id)
  const into = await targetOf(api, body.into)
  refuseUnmanaged(actor, [from.role, into.role])
  if (from.source === 'built-in')
    throw new ProblemError('person_built_in', `${from.name} owns the administrator token and stays`)
  if (from.id === into.id) {
    const message = 'must be another person'
    throw new ProblemError('validation_failed', `body.into: ${message}`, [{ path: 'body.into', message }])
  }
  await mark(api, from, into, actor)
  await moveBelongings(api, from, into, actor)
  return getPerson(api, into.id)
}

async function targetOf(api: Api, id: string): Promise<Person> {
  const into = await api.people.get(id)
  if (into === null) throw new ProblemError('person_not_found', `there is no person ${id}`)
  refuseMerging(into)
  return into
}

async function mark(api: Api, from: Person, into: Person, actor: Actor): Promise<void> {
  await changeDocument(personTarget(api, from.id), api.clock, null, (person, now) => {
    if (person.merging_into === into.id) return null
    refuseMerging(person)
    const after = { merging_into: into.id }
    const entries = [auditEntry(actor, 'merge', now, { before: { merging_into: null }, after })]
    return { document: { ...person, ...after }, entries }
  })
  try {
    // Its new version makes a removal of the target fail. Of two that are merged into each other, one is refused here.
    await changeDocument(personTarget(api, into.id), api.clock, null, target => {
      refuseMerging(target)
      return { document: target, entries: [] }
    })
  } catch (error) {
    if (error instanceof ProblemError) await unmark(api, from.id, actor)
    throw error
  }
}

const unmark = (api: Api, id: string, actor: Actor): Promise<Person | null> =>
  nullOnConflict(
    changeDocument(personTarget(api, id), api.clock, null, ({ merging_into, ...person }, now) => ({
      document: { ...person, merging_into: null },
      entries: [auditEntry(actor, 'merge-undo', now, { before: { merging_into }, after: { merging_into: null } })],
    })),
  )

/** Returns how many sessions, saves and tokens had another owner before. */
async function moveBelongings(api: Api, from: Person, into: Person, actor: Actor): Promise<number> {
  const tokens = await listAll(api.tokens, { where: { person_id: from.id } })
  for (const { id } of tokens)
    await nullOnConflict(
      changeDocument({ collection: api.tokens, id, noun: 'token' }, api.clock, null, (token, now) => {
        if (token.person_id !== from.id) return null
        const change = { before: { person_id: from.id }, after: { person_id: into.id } }
        return {
          document: { ...token, person_id: into.id },
          entries: [auditEntry(actor, 'change-person', now, change)],
        }
      }),
    )
  const sessions = await listAll(api.sessions, { where: { owner: from.id } })
  for (const { id } of sessions) await nullOnConflict(moveSession(api, id, { from, into }, actor))
  const saves = await listAll(api.saves, { where: { owner: from.id } })
  for (const { id } of saves) await nullOnConflict(moveSave(api, id, { from, into }, actor))
  await moveQuota(api, from.id, into.id, actor)
  return tokens.length + sessions.length + saves.length
}

/** A `reservation_id` that the new owner has too is dropped: it is unique per owner, and the merge must end. */
async function moveSession(
  api: Api,
  id: string,
  { from, into }: { from: Person; into: Person },
  actor: Actor,
): Promise<LabletSession> {
  const moveAnd = (more: Partial<LabletSession>) =>
    changeSession(api, id, { actor, ifMatch: null, once: null }, (session, now) => {
      if (session.owner !== from.id) return null
      const { owner, reservation_id } = session
      const moved = { ...session, owner: into.id, owner_name: into.name, ...more }
      const after = { owner: moved.owner, reservation_id: moved.reservation_id }
      const entries = [auditEntry(actor, 'change-owner', now, { before: { owner, reservation_id }, after })]
      return { session: moved, entries }
    })
  try {
    return await moveAnd({})
  } catch (error) {
    if (!(error instanceof ProblemError && error.code === 'already_exists')) throw error
    return moveAnd({ reservation_id: null })
  }
}

const moveSave = (
  api: Api,
  id: string,
  { from, into }: { from: Person; into: Person },
  actor: Actor,
): Promise<StoredSave> =>
  changeDocument({ collection: api.saves, id, noun: 'save' }, api.clock, null, (save, now) => {
    if (save.owner !== from.id) return null
    const moved = { ...save, owner: into.id, owner_name: into.name }
    const entry = auditEntry(actor, 'change-owner', now, { before: { owner: from.id }, after: { owner: into.id } })
    return { document: moved, entries: [entry] }
  })

/** Finishes every merge. Any number of replicas may run it at once. */
export async function finishMerges(api: Api, signal: AbortSignal): Promise<void> {
  for (const from of await listAll(api.people, { where: { is_merging: 'yes' } }))
    if (!signal.aborted) await finishMerge(api, from)
}

async function finishMerge(api: Api, from: Person): Promise<void> {
  const into = from.merging_into === null ? null : await api.people.get(from.merging_into)
  if (into === null || into.merging_into === from.id) {
    await unmark(api, from.id, SYSTEM_ACTOR)
    return
  }
  const moved = await moveBelongings(api, from, into, SYSTEM_ACTOR)
  const sources = await api.people.list({ where: { merging_into: from.id }, limit: 1 })
  const isSettled = api.clock.now() - toMs(from.updated_at) >= SETTLE_MS
  if (moved > 0 || sources.length > 0 || !isSettled) return
  const after = { merged_into: into.id }
  const now = toInstant(api.clock.now())
  await api.people.remove(from, [auditEntry(SYSTEM_ACTOR, 'delete', now, { before: { name: from.name }, after })])
  await removeQuota(api, from.id)
}

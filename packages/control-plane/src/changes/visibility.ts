import type { Actor } from '@lcm/domain/actor'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../http/api.ts'
import { listAll } from '../resources/list-documents.ts'
import { OWNS_NOTHING, type Ownership, ownershipIn, seesAll } from './redaction.ts'

/** Null for an actor that sees everything: nothing is redacted. */
export const ownershipOf = async (api: Api, actor: Actor): Promise<Ownership | null> =>
  seesAll(actor) ? null : ownershipIn(await listAll(api.sessions, { where: { owner: actor.id } }))

/** Audience of a decision or planned action. */
export interface Visibility {
  /** Owner of its session; null when it is public. */
  readonly owner: string | null
  /** Parts of it that the owner may see. */
  readonly own: Ownership
}

const PUBLIC: Visibility = { owner: null, own: OWNS_NOTHING }
/** The owner of a deleted resource is unknown, so only actors that see everything receive it. */
const UNKNOWN: Visibility = { owner: '', own: OWNS_NOTHING }

/** For a resource such as `session:ls-1`. A lab is as private as its session. */
export async function visibilityOf(api: Api, resource: string): Promise<Visibility> {
  const [kind, id = ''] = resource.split(':')
  if (kind === 'session') return visibilityOfSession(await api.sessions.get(id))
  if (kind !== 'lab_record') return PUBLIC
  const lab = await api.labs.get(id)
  if (lab === null) return UNKNOWN
  return lab.session_id === null ? PUBLIC : visibilityOfSession(await api.sessions.get(lab.session_id))
}

const visibilityOfSession = (session: LabletSession | null): Visibility =>
  session === null ? UNKNOWN : { owner: session.owner, own: ownershipIn([session]) }

import { maySee } from '@lcm/contract/access'
import type { Actor } from '@lcm/domain/actor'
import type { Api } from '../api.ts'

const SESSION = 'session:'
const REMEMBERED_MAX = 1_000

/** Whether somebody may hear of a resource such as `session:ls-1`. Whose a session is never changes, so that it is asked once. */
export function mayHear(api: Api, actor: Actor): (resource: string) => Promise<boolean> {
  const known = new Map<string, boolean>()
  return async resource => {
    if (!resource.startsWith(SESSION) || maySee(actor, '')) return true
    const before = known.get(resource)
    if (before !== undefined) return before
    const session = await api.sessions.get(resource.slice(SESSION.length))
    const isOwn = session !== null && maySee(actor, session.owner)
    if (known.size >= REMEMBERED_MAX) known.clear()
    known.set(resource, isOwn)
    return isOwn
  }
}

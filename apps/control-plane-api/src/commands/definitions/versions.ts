import type { Actor } from '@lcm/domain/actor'
import type { Api } from '../../api.ts'
import type { StoredDefinition } from '../../kinds.ts'
import { everyPage } from '../../queries/every-page.ts'
import { changeDocument } from '../change.ts'
import { auditEntry } from '../entries.ts'

/** Who stands behind a version that went because a newer one came. */
const SUCCESSION: Actor = { id: 'succession', name: 'a newer version', role: 'admin', service: null }

/**
 * A version that an ACTIVE one replaces is DEPRECATED. It is the second of two writes, after the one that made the new version
 * ACTIVE: until it is done both can be booked, and never neither. Whoever looks next finishes it.
 */
export async function settleVersions(api: Api, name: string): Promise<void> {
  const active = await everyPage(api.definitions, { where: { name, status: 'ACTIVE' } })
  await deprecateReplaced(api, active)
}

export async function settleAllVersions(api: Api): Promise<void> {
  await deprecateReplaced(api, await everyPage(api.definitions, { where: { status: 'ACTIVE' } }))
}

async function deprecateReplaced(api: Api, active: readonly StoredDefinition[]): Promise<void> {
  const successors = new Map(active.flatMap(each => (each.replaces === null ? [] : [[each.replaces, each]])))
  for (const { id } of active) {
    const successor = successors.get(id)
    if (successor === undefined) continue
    await changeDocument({ collection: api.definitions, id, noun: 'definition' }, api.clock, null, (current, now) => {
      if (current.status !== 'ACTIVE') return null
      const document = { ...current, status: 'DEPRECATED' as const }
      const reason = `${successor.definition_version} takes its place`
      const more = { before: { status: current.status }, after: { status: document.status }, reason }
      return { document, entries: [auditEntry(SUCCESSION, 'deprecate', now, more)] }
    })
  }
}

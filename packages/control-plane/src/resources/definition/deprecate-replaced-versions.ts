import type { Actor } from '@lcm/domain/actor'
import { compareVersions } from '@lcm/domain/session/placement'
import type { Api } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'

/** Actor of a version that was deprecated by a newer one. */
const SUCCESSION: Actor = { id: 'succession', name: 'a newer version', role: 'admin', service: null }

/**
 * Each definition has one ACTIVE version: an ACTIVE version that another ACTIVE one replaces becomes DEPRECATED. This is the
 * second of two writes, after the one that made the new version ACTIVE: until then both can be booked, and never neither. The
 * next reader finishes it.
 */
export const deprecateReplaced = (api: Api, name: string): Promise<void> => settle(api, { name })

export const deprecateAllReplaced = (api: Api): Promise<void> => settle(api, {})

async function settle(api: Api, which: { name?: string }): Promise<void> {
  const active = await listAll(api.definitions, { where: { ...which, status: 'ACTIVE' } })
  const waiting = await listAll(api.definitions, { where: { ...which, status: 'PENDING_SYNC' } })
  for (const [name, versions] of byName(active)) {
    const inUse = inUseOf(versions)
    if (inUse === undefined) continue
    for (const each of versions) if (each.id !== inUse.id) await deprecateFor(api, each, inUse)
    for (const each of waiting) if (each.name === name && each.replaces !== inUse.id) await aimAt(api, each, inUse)
  }
}

function byName(definitions: readonly StoredDefinition[]): Map<string, StoredDefinition[]> {
  const groups = new Map<string, StoredDefinition[]>()
  for (const each of definitions) groups.set(each.name, [...(groups.get(each.name) ?? []), each])
  return groups
}

/** The version that no other replaces; the newest, where two became ACTIVE at once. */
function inUseOf(active: readonly StoredDefinition[]): StoredDefinition | undefined {
  const replaced = new Set(active.map(each => each.replaces))
  const [newest] = active
    .filter(each => !replaced.has(each.id))
    .toSorted((a, b) => compareVersions(b.definition_version, a.definition_version))
  return newest
}

async function deprecateFor(api: Api, { id }: StoredDefinition, successor: StoredDefinition): Promise<void> {
  await changeDocument({ collection: api.definitions, id, noun: 'definition' }, api.clock, null, (current, now) => {
    if (current.status !== 'ACTIVE') return null
    const document = { ...current, status: 'DEPRECATED' as const }
    const reason = `${successor.definition_version} takes its place`
    const more = { before: { status: current.status }, after: { status: document.status }, reason }
    return { document, entries: [auditEntry(SUCCESSION, 'deprecate', now, more)] }
  })
}

/** A pending edit replaces the version in use, which may be newer than the one it was created from. */
async function aimAt(api: Api, { id }: StoredDefinition, inUse: StoredDefinition): Promise<void> {
  await nullOnConflict(
    changeDocument({ collection: api.definitions, id, noun: 'definition' }, api.clock, null, current =>
      current.status === 'PENDING_SYNC' ? { document: { ...current, replaces: inUse.id }, entries: [] } : null,
    ),
  )
}

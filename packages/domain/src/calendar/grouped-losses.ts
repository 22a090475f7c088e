import type { Instant } from '../instant.ts'

interface LostSession {
  readonly id: string
  readonly definition: string
  readonly owner_name: string
  readonly start: Instant
}

export interface LossGroup extends Omit<LostSession, 'id'> {
  readonly ids: readonly string[]
}

/** Sessions of one booking as one line, in the order of the first of each. */
export function groupedLosses(sessions: readonly LostSession[]): LossGroup[] {
  const groups = new Map<string, Omit<LostSession, 'id'> & { readonly ids: string[] }>()
  for (const { id, ...rest } of sessions) {
    const key = JSON.stringify([rest.start, rest.definition, rest.owner_name])
    const group = groups.get(key) ?? { ...rest, ids: [] }
    group.ids.push(id)
    groups.set(key, group)
  }
  return [...groups.values()]
}

import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'

export interface DefinitionCache {
  /** Those of these ids that exist. Rejects when it could not be found out. */
  of(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, LabletDefinition>>
}

/** What was booked once never changes, so that a list is read only when one is new. Topologies are left out. */
export function definitionCache(client: Client): DefinitionCache {
  let known: ReadonlyMap<string, LabletDefinition> = new Map()
  return {
    async of(ids, signal) {
      if (ids.some(id => !known.has(id))) {
        const wanted = new Set(ids)
        const { items } = await readList(page => client.call('listDefinitions', { query: page, signal }))
        const found = items.filter(({ id, status }) => wanted.has(id) && status !== 'PENDING_SYNC')
        known = new Map(found.map(each => [each.id, { ...each, topology: null }]))
      }
      return known
    },
  }
}

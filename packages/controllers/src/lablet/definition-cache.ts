import type { Client } from '@lcm/client/client'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'

/** A topology may be long, so only so many are kept. */
const KEPT_MAX = 50

export interface DefinitionCache {
  /** A version that is in use never changes, so it is read once. */
  get(id: string, signal: AbortSignal): Promise<LabletDefinition>
}

export function definitionCache(client: Client): DefinitionCache {
  const kept = new Map<string, LabletDefinition>()
  return {
    async get(id, signal) {
      const known = kept.get(id)
      if (known !== undefined) return known
      const found = await client.call('getDefinition', { params: { id }, signal })
      if (found.status === 'PENDING_SYNC') return found
      const [oldest] = kept.keys()
      if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
      kept.set(id, found)
      return found
    },
  }
}

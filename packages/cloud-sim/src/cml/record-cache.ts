import type { SimState } from '../sim-state.ts'
import type { SimChange } from '../sim-store.ts'

const SLACK = 100

/** Parsed records: each text is parsed once. */
export interface RecordCache {
  readonly size: number
  /** Parsed without validation: the format number shows that this code wrote the file. */
  read<Value>(kind: string, key: string): Value | null
  /** Removed records are never read again, so they would stay in the cache. */
  forget(removed: readonly Pick<SimChange, 'kind' | 'key'>[]): void
}

export function recordCache(sim: Pick<SimState, 'stored'>, kinds: readonly string[]): RecordCache {
  const cache = new Map<string, { readonly text: string; readonly value: unknown }>()
  return {
    get size() {
      return cache.size
    },
    read<Value>(kind: string, key: string): Value | null {
      const at = `${kind} ${key}`
      const text = sim.stored(kind).get(key)
      if (text === undefined) {
        cache.delete(at)
        return null
      }
      const known = cache.get(at)
      if (known?.text === text) return known.value as Value
      const value: Value = JSON.parse(text)
      // Deleted machines must not stay in the cache.
      if (cache.size > SLACK + kinds.reduce((sum, each) => sum + sim.stored(each).size, 0)) cache.clear()
      cache.set(at, { text, value })
      return value
    },
    forget(removed) {
      for (const { kind, key } of removed) cache.delete(`${kind} ${key}`)
    },
  }
}

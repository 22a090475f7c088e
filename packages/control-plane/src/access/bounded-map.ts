export interface BoundedMap<V> {
  get(key: string): V | undefined
  /** Stores the value as the newest entry. */
  set(key: string, value: V): void
  delete(key: string): void
  clear(): void
}

/** Evicts the oldest entry above `entriesMax`, so that unknown callers can't fill the memory. */
export function boundedMap<V>(entriesMax: number): BoundedMap<V> {
  const entries = new Map<string, V>()
  return {
    get: key => entries.get(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax) break
        entries.delete(oldest)
      }
    },
    delete: key => void entries.delete(key),
    clear: () => entries.clear(),
  }
}

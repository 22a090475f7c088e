export interface BoundedMap<V> {
  get(key: string): V | undefined
  /** Makes it the newest. */
  set(key: string, value: V): void
  delete(key: string): void
  clear(): void
}

/** Forgets the oldest entry when there are more than `entriesMax`, so that strangers can not fill the memory. */
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

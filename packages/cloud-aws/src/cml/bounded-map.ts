/** Servers come and go; of those that are gone nobody tells. */
const ENTRIES_MAX = 10_000

/** Sets an entry as the newest one. Beyond `max` the oldest goes. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max = ENTRIES_MAX): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= max) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

/** Bounds the map, since removed servers are never reported. */
const ENTRIES_MAX = 10_000

/** Sets an entry as the newest one. Beyond `max` the oldest is removed. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max = ENTRIES_MAX): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= max) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

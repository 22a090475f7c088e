/** Newest version of each key, so that no change is published twice or out of order. */
export interface VersionFilter {
  /** Whether the version is newer than the last one of this key; stores it. */
  accept(key: string, version: number): boolean
  /** Removes a key. Its version is kept for a while, because a slow writer may set the key again. */
  release(key: string): void
}

/** Holds one entry per key and `releasedMax` more. */
export function versionFilter(releasedMax: number): VersionFilter {
  const present = new Map<string, number>()
  const released = new Map<string, number>()
  return {
    accept(key, version) {
      if (version <= (present.get(key) ?? released.get(key) ?? 0)) return false
      released.delete(key)
      present.set(key, version)
      return true
    },
    release(key) {
      const version = present.get(key)
      if (version === undefined) return
      present.delete(key)
      released.set(key, version)
      const [oldest] = released.keys()
      if (released.size > releasedMax && oldest !== undefined) released.delete(oldest)
    },
  }
}

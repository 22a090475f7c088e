/** The newest version of each key, so that none is told twice and none goes back. */
export interface VersionFilter {
  /** Whether the version is newer than any seen of this key; it is seen from now on. */
  accept(key: string, version: number): boolean
  /** The key is gone. Its version is kept for a while: a slow writer may set the key once more to what it was. */
  release(key: string): void
}

/** As large as there are keys, and `releasedMax` more. */
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

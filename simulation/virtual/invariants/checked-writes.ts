import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { textRewrites } from './text-rewrites.ts'

/** Every write that returned `ok` replaced exactly the version that its author had read, and changed more than texts. */
export function withCheckedWrites(store: Store, violated: (rule: string) => void): Store {
  return {
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      const newest = new Map<string, number>()
      const rewrites = textRewrites(kind.name)
      return {
        ...documents,
        async insert(document, entries) {
          const result = await documents.insert(document, entries)
          if (!result.ok) return result
          newest.set(document.id, document.version)
          rewrites(document)
          return result
        },
        async replace(document, entries) {
          const result = await documents.replace(document, entries)
          if (!result.ok) return result
          const known = newest.get(document.id) ?? 0
          if (document.version <= known)
            violated(`${kind.name} ${document.id} was written over: ${document.version} after ${known}`)
          newest.set(document.id, Math.max(known, document.version))
          for (const rule of rewrites(document)) violated(rule)
          return result
        },
      }
    },
  }
}

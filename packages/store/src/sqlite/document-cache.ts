import type { Document } from '../store.ts'

/** Texts of so many characters in all; with what they are parsed into, about two and a half times as many bytes. */
const CHARACTERS_MAX = 48 * 1024 * 1024

interface Kept<T> {
  readonly document: T
  readonly characters: number
}

/** Documents of one kind as they were last read: one that has not changed is not parsed again. */
export interface DocumentCache<T extends Document> {
  /** The document, if it is known in this version. */
  get(id: string, version: number): T | undefined
  /** The version that is known, 0 for none. */
  versionOf(id: string): number
  put(document: T, characters: number): void
}

/** Forgets what it has known for the longest: to note every use would cost more than to read again what is in use. */
export function documentCache<T extends Document>(charactersMax = CHARACTERS_MAX): DocumentCache<T> {
  const all = new Map<string, Kept<T>>()
  let held = 0

  function drop(id: string): void {
    held -= all.get(id)?.characters ?? 0
    all.delete(id)
  }

  return {
    get(id, version) {
      const document = all.get(id)?.document
      return document?.version === version ? document : undefined
    },
    versionOf: id => all.get(id)?.document.version ?? 0,
    put(document, characters) {
      drop(document.id)
      all.set(document.id, { document, characters })
      held += characters
      for (const oldest of all.keys()) {
        if (held <= charactersMax) return
        drop(oldest)
      }
    },
  }
}

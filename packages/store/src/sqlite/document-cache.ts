import type { Document } from '../store.ts'

/** Texts of so many characters in all; with what they are parsed into, about two and a half times as many bytes. */
const CHARACTERS_MAX = 48 * 1024 * 1024
/** A round ends after so many uses, and after several for each that is known: lists that are read page by page end none too soon. */
const ROUND_USES_MIN = 5_000
const ROUND_USES_EACH = 8

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

/**
 * Forgets what nobody has used for a whole round, so that what is over does not fill the memory; and when it is too much all
 * the same, what has been in use for the longest: to note every use would cost more than to read again what is in use.
 */
export function documentCache<T extends Document>(charactersMax = CHARACTERS_MAX): DocumentCache<T> {
  let used = new Map<string, Kept<T>>()
  /** Used in the round before and not since. */
  let unused = new Map<string, Kept<T>>()
  let held = 0
  let uses = 0

  function find(id: string): Kept<T> | undefined {
    uses += 1
    const known = used.get(id)
    if (known) return known
    const old = unused.get(id)
    if (old) {
      unused.delete(id)
      used.set(id, old)
    }
    return old
  }

  function drop(id: string): void {
    held -= (used.get(id) ?? unused.get(id))?.characters ?? 0
    used.delete(id)
    unused.delete(id)
  }

  function beginRound(): void {
    for (const { characters } of unused.values()) held -= characters
    unused = used
    used = new Map()
    uses = 0
  }

  function dropUntilItFits(): void {
    for (const known of [unused, used]) {
      for (const oldest of known.keys()) {
        if (held <= charactersMax) return
        drop(oldest)
      }
    }
  }

  return {
    get(id, version) {
      const document = find(id)?.document
      return document?.version === version ? document : undefined
    },
    versionOf: id => find(id)?.document.version ?? 0,
    put(document, characters) {
      drop(document.id)
      if (uses >= Math.max(ROUND_USES_MIN, ROUND_USES_EACH * (used.size + unused.size))) beginRound()
      used.set(document.id, { document, characters })
      held += characters
      dropUntilItFits()
    },
  }
}

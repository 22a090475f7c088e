import type { Document } from '../store.ts'

/**
 * Total characters of cached bodies. Together with the parsed documents they take about two and a half times as many
 * bytes.
 */
const CHARACTERS_MAX = 48 * 1024 * 1024
/**
 * Uses until a round ends, in total and per cached document. Lists that are read page by page must not end a round too
 * soon.
 */
const ROUND_USES_MIN = 5_000
const ROUND_USES_EACH = 8

interface Kept<T> {
  readonly document: T
  readonly characters: number
}

/** Parsed documents of one kind, so that unchanged documents are not parsed again. */
export interface DocumentCache<T extends Document> {
  /** The document, if this version is cached. */
  get(id: string, version: number): T | undefined
  /** The cached version, 0 for none. */
  versionOf(id: string): number
  put(document: T, characters: number): void
}

/**
 * Evicts documents that were not used for a whole round, and the oldest ones when the cache is full. Recording every
 * use (LRU) would cost more than reading a few documents again.
 */
export function documentCache<T extends Document>(charactersMax = CHARACTERS_MAX): DocumentCache<T> {
  let used = new Map<string, Kept<T>>()
  /** Used in the previous round and not since. */
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

  function startRound(): void {
    for (const { characters } of unused.values()) held -= characters
    unused = used
    used = new Map()
    uses = 0
  }

  function evictUntilItFits(): void {
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
      if (uses >= Math.max(ROUND_USES_MIN, ROUND_USES_EACH * (used.size + unused.size))) startRound()
      used.set(document.id, { document, characters })
      held += characters
      evictUntilItFits()
    },
  }
}

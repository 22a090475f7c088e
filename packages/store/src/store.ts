/** `version` is 1 at insertion and grows by one with every write. */
export interface Document {
  readonly id: string
  readonly version: number
}

/** One kind of document: how to parse it, which values are unique, which facets lists can filter by. */
export interface Kind<T extends Document> {
  readonly name: string
  /** Parses a body in full when it is upgraded; missing fields get their defaults. Current bodies are read unchecked. */
  parse(body: unknown): T
  /** Values that only one document of the kind may have. Null doesn't count: any number of documents may have none. */
  readonly unique?: Readonly<Record<string, (document: T) => string | null>>
  /** Facets that lists can filter by: name and text value. */
  readonly facets?: (document: T) => Readonly<Record<string, string>>
  /** Whether changes of this kind are published. Ids of a published kind are never reused after a removal. */
  readonly announced: boolean
}

/** A body on its way from one schema to the next. Its shape is that of an earlier release. */
export type OldBody = Readonly<Record<string, unknown>>

/** Changes bodies by kind. Kinds that it doesn't name stay as they are. */
export type Upgrade = Readonly<Record<string, (body: OldBody) => OldBody>>

/**
 * Documents as this release stores them. The number of upgrades is the number of the schema; it is stored, and a store with a
 * higher one is refused.
 */
export interface StoreSchema {
  readonly kinds: readonly AnyKind[]
  /** The entry at index n leads from schema n to n + 1. Afterwards all kinds are parsed, and their indexes are rebuilt. */
  readonly upgrades: readonly Upgrade[]
  /** Called before documents of schema `from` are upgraded, which may take a while. */
  onUpgrade?(from: number): void
}

/** A kind of any document. Its functions take only documents that its own `parse` returned. */
export interface AnyKind extends Omit<Kind<never>, 'parse'> {
  parse(body: unknown): Document
}

export type WriteResult =
  | { readonly ok: true }
  /** The document is missing or not at the version before this one: read it again. */
  | { readonly ok: false; readonly reason: 'stale' }
  /** Another document has the id (`field: 'id'`) or the unique value. */
  | { readonly ok: false; readonly reason: 'taken'; readonly field: string }

export interface Query {
  /** Facets that must equal these values. */
  readonly where?: Readonly<Record<string, string>>
  readonly whereNot?: Readonly<Record<string, string>>
  /** Facets that must contain this text, ignoring case. */
  readonly contains?: Readonly<Record<string, string>>
  /** Documents are sorted by id; returns only those after this id. */
  readonly after?: string
  readonly limit: number
}

/** A journal entry that is committed together with a write. */
export interface NewEntry {
  readonly stream: string
  /** RFC 3339 UTC with milliseconds, so that it sorts as text. */
  readonly at: string
  /** JSON. */
  readonly body: object
}

/**
 * When a write survives the loss of power. `with_next` is for what can be written again from something durable: it survives the
 * death of the process at once, and the loss of power as soon as any later write does.
 */
export type Durability = 'at_once' | 'with_next'

/**
 * Documents of one kind. A write that returned `ok` survives any crash; a write that failed may or may not have been
 * committed.
 */
export interface Collection<T extends Document> {
  get(id: string): Promise<T | null>
  list(query: Query): Promise<readonly T[]>
  insert(document: T, entries?: readonly NewEntry[], durability?: Durability): Promise<WriteResult>
  /** Compare-and-set: replaces exactly the version before `document.version`. */
  replace(document: T, entries?: readonly NewEntry[]): Promise<WriteResult>
  /** Compare-and-set: `document` is the version that was read. The removal is published as the version after it. */
  remove(document: T, entries?: readonly NewEntry[]): Promise<WriteResult>
}

export interface JournalEntry extends NewEntry {
  /**
   * Entries of a write have the id `<kind>:<document id>:<version>:<n>`. Appending the same id again changes nothing.
   */
  readonly id: string
  /** The document that the entry is about: `<kind>:<document id>`. */
  readonly subject: string
}

export interface JournalQuery {
  readonly streams: readonly string[]
  readonly subject?: string
  /** Start (inclusive) and end (exclusive) of the time range. */
  readonly from?: string
  readonly to?: string
  /** Continues after this entry of an earlier page. */
  readonly after?: { readonly at: string; readonly id: string }
  readonly limit: number
}

/** Append-only, newest first. Entries of a write are readable as soon as that write returns. */
export interface Journal {
  append(entries: readonly JournalEntry[]): Promise<void>
  query(query: JournalQuery): Promise<readonly JournalEntry[]>
  /** Deletes at most `limit` entries of the stream older than `before`; returns how many. */
  prune(stream: string, before: string, limit: number): Promise<number>
}

export interface Sample {
  /** The series that the sample belongs to: `<kind>:<document id>`. */
  readonly series: string
  readonly at: string
  /** JSON. */
  readonly body: object
}

/**
 * Samples over time. They change no version and wake no listener. A series has one sample per instant: the last one
 * written.
 */
export interface Series {
  append(samples: readonly Sample[]): Promise<void>
  /** Newest first. */
  range(query: { series: string; from?: string; to?: string; limit: number }): Promise<readonly Sample[]>
  /** The newest sample of each series that has any. */
  newest(series: readonly string[]): Promise<ReadonlyMap<string, Sample>>
  /** Samples of any series at or after `from`, oldest first. */
  recent(from: string, limit: number): Promise<readonly Sample[]>
  prune(before: string, limit: number): Promise<number>
  drop(series: string): Promise<void>
}

/**
 * Content that is written once, for data that is too large for documents. A blob is readable as soon as all of it is durable,
 * and never in part. An id is never reused after its removal.
 */
export interface Blobs {
  /** Can be repeated. False when the id has other content, which stays. */
  write(id: string, content: Uint8Array): Promise<boolean>
  /** Null for a blob that is missing or was not written to its end. */
  read(id: string): Promise<Uint8Array | null>
  remove(id: string): Promise<void>
  /** Ids after this one in order, at most `limit`; none at the end. Includes blobs that a crash left unreadable. */
  ids(query: { after?: string; limit: number }): Promise<readonly string[]>
  /** The readable ones. */
  total(): Promise<{ readonly count: number; readonly bytes: number }>
}

export interface Change {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly deleted: boolean
}

/**
 * Commits that may not have been published yet. A flag in the same commit marks them, so that another process publishes
 * them after a crash.
 */
export interface Announcements {
  /** Unpublished changes, at most `limit`. */
  pending(limit: number): Promise<readonly Change[]>
  /** Marks changes as published, each only if the document is still at that version. No version changes. */
  done(changes: readonly Change[]): Promise<void>
  /** Calls `wake` after each commit of this process; the returned function unsubscribes. */
  onCommit(wake: () => void): () => void
}

export interface PositionedChange extends Change {
  /** Opaque token: where to resume after this change. */
  readonly position: string
}

export type ChangesAnswer =
  | { readonly known: true; readonly changes: readonly PositionedChange[] }
  /** The position is unknown or too old to resume from: read everything again. */
  | { readonly known: false }

/**
 * The newest change of every published document, in commit order. Versions may be skipped but never repeat and never go
 * backward.
 */
export interface ChangeFeed {
  position(): Promise<string>
  since(position: string, limit: number): Promise<ChangesAnswer>
  /** Calls `wake` when there is a new change to read; the returned function unsubscribes. */
  onCommit(wake: () => void): () => void
}

export interface Store {
  collection<T extends Document>(kind: Kind<T>): Collection<T>
  readonly journal: Journal
  readonly series: Series
  readonly blobs: Blobs
  readonly announcements: Announcements
  /** The store's own feed; null where change keys order the commits instead. */
  readonly changes: ChangeFeed | null
  /**
   * Moves journal entries out of at most `limit` documents and deletes expired tombstones; returns how many documents
   * it touched. Any process may call it at any time.
   */
  flushOutbox(limit: number): Promise<number>
  /**
   * Writes a consistent copy to a new file without blocking other work; null where the server has its own backup tools.
   */
  readonly backup: ((file: string) => Promise<void>) | null
  close(): Promise<void>
}

/** The store can't be used. The message says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  /** A retry can't help: the configuration is wrong. */
  readonly isFinal: boolean
  /** Cause and remedy in words that any client may see: no path and no address. */
  readonly advice: string | null

  constructor(message: string, options: ErrorOptions & { isFinal?: boolean; advice?: string } = {}) {
    super(message, options)
    this.isFinal = options.isFinal ?? false
    this.advice = options.advice ?? null
  }
}

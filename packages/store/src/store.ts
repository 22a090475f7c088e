/** What every stored thing has. `version` is 1 at insertion and grows by one with every write. */
export interface Document {
  readonly id: string
  readonly version: number
}

/** One kind of document: how it is read back, what must not occur twice, what it can be found by. */
export interface Kind<T extends Document> {
  readonly name: string
  /** Reads a stored body; also gives fields that were added later their defaults. */
  parse(body: unknown): T
  /** Values that only one document of the kind may have. Null is no value: it may occur often. */
  readonly unique?: Readonly<Record<string, (document: T) => string | null>>
  /** What lists can be filtered by: names and the text that the document has there. */
  readonly facets?: (document: T) => Readonly<Record<string, string>>
  /** Whether its changes are told to others. Ids of such a kind are never used again after a removal. */
  readonly announced: boolean
}

export type WriteResult =
  | { readonly ok: true }
  /** The document is not there, or not at the version before this one: read it again. */
  | { readonly ok: false; readonly reason: 'stale' }
  /** Another document has the id (`field: 'id'`) or the unique value. */
  | { readonly ok: false; readonly reason: 'taken'; readonly field: string }

export interface Query {
  /** Facets that must equal these values. */
  readonly where?: Readonly<Record<string, string>>
  readonly whereNot?: Readonly<Record<string, string>>
  /** Facets that must contain this text, whatever the case of its letters. */
  readonly contains?: Readonly<Record<string, string>>
  /** Documents come sorted by id; only those after this one. */
  readonly after?: string
  readonly limit: number
}

/** What a write leaves in the journal, in the same commit. */
export interface NewEntry {
  readonly stream: string
  /** RFC 3339 UTC with milliseconds, so that it sorts as text. */
  readonly at: string
  /** JSON. */
  readonly body: object
}

/** Documents of one kind. A write that was answered `ok` survives any crash; one that was not may or may not have happened. */
export interface Collection<T extends Document> {
  get(id: string): Promise<T | null>
  list(query: Query): Promise<readonly T[]>
  insert(document: T, entries?: readonly NewEntry[]): Promise<WriteResult>
  /** Compare-and-set: takes the place of exactly the version before `document.version`. */
  replace(document: T, entries?: readonly NewEntry[]): Promise<WriteResult>
  /** Compare-and-set: `document` is the version that was read. Its removal is told as the version after. */
  remove(document: T, entries?: readonly NewEntry[]): Promise<WriteResult>
}

export interface JournalEntry extends NewEntry {
  /** Of an entry that rode on a write: `<kind>:<document id>:<version>:<n>`. An id is kept once, however often it is given. */
  readonly id: string
  /** What it is about: `<kind>:<document id>`. */
  readonly subject: string
}

export interface JournalQuery {
  /** Any of these. */
  readonly streams: readonly string[]
  readonly subject?: string
  /** Only entries at or after, and before, these instants. */
  readonly from?: string
  readonly to?: string
  /** Goes on after this entry of an earlier answer. */
  readonly after?: { readonly at: string; readonly id: string }
  readonly limit: number
}

/** Append-only, newest first. Entries that rode on a write are there as soon as that write is answered. */
export interface Journal {
  append(entries: readonly JournalEntry[]): Promise<void>
  query(query: JournalQuery): Promise<readonly JournalEntry[]>
  /** Forgets entries of the stream older than `before`, at most `limit`; answers how many. */
  prune(stream: string, before: string, limit: number): Promise<number>
}

export interface Sample {
  /** What it is a sample of: `<kind>:<document id>`. */
  readonly series: string
  readonly at: string
  /** JSON. */
  readonly body: object
}

/** Numbers over time. They belong to no version and wake nobody. One sample per series and instant: the last one given. */
export interface Series {
  append(samples: readonly Sample[]): Promise<void>
  /** Newest first. */
  range(query: { series: string; from?: string; to?: string; limit: number }): Promise<readonly Sample[]>
  /** The newest sample of each series that has one. */
  newest(series: readonly string[]): Promise<ReadonlyMap<string, Sample>>
  /** Samples of any series at or after `from`, oldest first. */
  recent(from: string, limit: number): Promise<readonly Sample[]>
  prune(before: string, limit: number): Promise<number>
  drop(series: string): Promise<void>
}

export interface Change {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly deleted: boolean
}

/**
 * Commits that others may not have been told of. A flag set in the same commit remembers them, so that a crash before the
 * telling is made good by whoever looks next.
 */
export interface Announcements {
  /** Changes of announced kinds that are still to be told, at most `limit`. */
  pending(limit: number): Promise<readonly Change[]>
  /** These have been told. Forgets each only if the document is still at that version; bumps none. */
  done(changes: readonly Change[]): Promise<void>
  /** Calls `wake` after each commit of this process until the answer is called. */
  onCommit(wake: () => void): () => void
}

export interface PositionedChange extends Change {
  /** Opaque to all but the feed: where to resume after this change. */
  readonly position: string
}

export type ChangesAnswer =
  | { readonly known: true; readonly changes: readonly PositionedChange[] }
  /** The position is from elsewhere or too old to be resumed: read everything again. */
  | { readonly known: false }

/**
 * A commit is the event. The feed tells the newest change of every document of an announced kind, in commit order:
 * versions may be skipped, never repeated and never go back.
 */
export interface ChangeFeed {
  position(): Promise<string>
  since(position: string, limit: number): Promise<ChangesAnswer>
  /** Calls `wake` when there is something new to read until the answer is called. */
  onCommit(wake: () => void): () => void
}

export interface Store {
  collection<T extends Document>(kind: Kind<T>): Collection<T>
  readonly journal: Journal
  readonly series: Series
  readonly announcements: Announcements
  /** The store's own feed; null where commits are ordered elsewhere, by their change keys. */
  readonly changes: ChangeFeed | null
  /** Finishes what commits left behind, at most `limit` documents of it; answers how many there were. Safe at any time, by any process. */
  settle(limit: number): Promise<number>
  /** Writes a consistent copy to a new file while work goes on; null where the server has tools of its own for that. */
  readonly backup: ((file: string) => Promise<void>) | null
  close(): Promise<void>
}

/** The store can't be used. The message is for people and says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  /** Waiting is of no use: the configuration is wrong. */
  readonly isFinal: boolean
  /** What went wrong and what to do, in words that any client may read: no path and no address. */
  readonly advice: string | null

  constructor(message: string, options: ErrorOptions & { isFinal?: boolean; advice?: string } = {}) {
    super(message, options)
    this.isFinal = options.isFinal ?? false
    this.advice = options.advice ?? null
  }
}

/** What every stored thing has. `version` is 1 at insertion and grows by one with every write. */
export interface Document {
  readonly id: string
  readonly version: number
}

/** One kind of document: how it is read back, and what must not occur twice. */
export interface Kind<T extends Document> {
  readonly name: string
  /** Reads a stored body; also gives fields that were added later their defaults. */
  parse(body: unknown): T
  /** Values that only one document of the kind may have. Null is no value: it may occur often. */
  readonly unique?: Readonly<Record<string, (document: T) => string | null>>
}

export type WriteResult =
  | { readonly ok: true }
  /** The document is not there, or not at the version before this one: read it again. */
  | { readonly ok: false; readonly reason: 'stale' }
  /** Another document has the id (`field: 'id'`) or the unique value. */
  | { readonly ok: false; readonly reason: 'taken'; readonly field: string }

export interface Query {
  /** Fields of the document's top level that must equal these values. */
  readonly where?: Readonly<Record<string, string>>
  readonly whereNot?: Readonly<Record<string, string>>
  /** Fields that must contain this text, whatever its case. */
  readonly contains?: Readonly<Record<string, string>>
  /** Documents come sorted by id; only those after this one. */
  readonly after?: string
  readonly limit: number
}

/** Documents of one kind. A write that was answered `ok` survives any crash; one that was not may or may not have happened. */
export interface Collection<T extends Document> {
  get(id: string): Promise<T | null>
  list(query: Query): Promise<readonly T[]>
  insert(document: T): Promise<WriteResult>
  /** Compare-and-set: takes the place of exactly the version before `document.version`. */
  replace(document: T): Promise<WriteResult>
  remove(document: T): Promise<WriteResult>
}

export interface Change {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly deleted: boolean
  /** Opaque to all but the store: where to resume after this change. */
  readonly position: string
}

export type ChangesAnswer =
  | { readonly known: true; readonly changes: readonly Change[] }
  /** The position is from elsewhere or too old to be resumed: read everything again. */
  | { readonly known: false }

/**
 * A commit is the event. The feed tells the newest change of every document once, in commit order:
 * versions may be skipped, never repeated and never go back.
 */
export interface ChangeFeed {
  position(): Promise<string>
  since(position: string, limit: number): Promise<ChangesAnswer>
  /** Calls `wake` after each commit until the answer is called. */
  onCommit(wake: () => void): () => void
}

export interface Store {
  collection<T extends Document>(kind: Kind<T>): Collection<T>
  readonly changes: ChangeFeed
  close(): void
}

/** The store can't be used. The message is for people and says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

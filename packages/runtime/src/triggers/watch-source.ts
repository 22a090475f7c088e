/** Source of changes. `Hint` is the value of a change key: small, without secrets, never the resource itself. */
export interface WatchSource<Hint = unknown> {
  /** Everything under the prefix at one revision. Rejects when `signal` aborts. */
  list(signal: AbortSignal): Promise<WatchListing<Hint>>
  /**
   * Every change after `afterRevision`, in order and without a gap; all changes of one revision come before the stream
   * may end. Gives a progress message as soon as it is open and at least every few seconds while nothing changes.
   * Throws `WatchCompacted` when changes after `afterRevision` are gone. Ends soon after `signal` aborts.
   */
  watch(afterRevision: number, signal: AbortSignal): AsyncIterable<WatchMessage<Hint>>
}

export interface WatchListing<Hint> {
  readonly entries: readonly WatchEntry<Hint>[]
  readonly revision: number
}

export interface WatchEntry<Hint> {
  readonly key: string
  readonly hint: Hint
  /** The revision that last changed this key. */
  readonly revision: number
}

export type WatchMessage<Hint> =
  | { readonly type: 'put'; readonly key: string; readonly hint: Hint; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number }
  /** A heartbeat: everything up to `revision` has been delivered. */
  | { readonly type: 'progress'; readonly revision: number }

/** The history after the requested revision is compacted: list again. */
export class WatchCompacted extends Error {
  readonly code = 'watch_compacted'
  constructor(afterRevision: number) {
    super(`changes after revision ${afterRevision} were compacted away`)
    this.name = 'WatchCompacted'
  }
}

export const isCompacted = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'watch_compacted'

import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, PositionedChange } from '@lcm/store/store'

const BATCH = 100

export type FeedItem =
  | { readonly kind: 'change'; readonly change: PositionedChange }
  /** The position was too old or unknown: the reader must list everything again. Changes continue from now. */
  | { readonly kind: 'reset' }
  /** Another event than a change woke the reader. */
  | { readonly kind: 'woken' }
  /** No change for the given time. */
  | { readonly kind: 'idle' }

interface FollowOptions {
  readonly clock: Clock
  readonly idleMs: number
  readonly signal: AbortSignal
  /** Further events that wake the reader. */
  readonly onOtherWake?: (wake: () => void) => () => void
}

/** Reads the feed at the reader's own pace until `signal` aborts. Nothing is queued, so a slow reader costs nothing. */
export async function* followChanges(feed: ChangeFeed, from: string, options: FollowOptions): AsyncGenerator<FeedItem> {
  const commits = commitSignal(wake => both(feed.onCommit(wake), options.onOtherWake?.(wake)), options)
  let position = from
  try {
    while (!options.signal.aborted) {
      const answer = await unlessAborted(options.signal, feed.since(position, BATCH))
      if (answer === null) return
      if (!answer.known) {
        position = await feed.position()
        yield { kind: 'reset' }
        continue
      }
      for (const change of answer.changes) {
        yield { kind: 'change', change }
        position = change.position
      }
      if (answer.changes.length === BATCH) continue
      const isWoken = await commits.wait(options.idleMs)
      if (!options.signal.aborted && !(isWoken && options.onOtherWake === undefined))
        yield { kind: isWoken ? 'woken' : 'idle' }
    }
  } finally {
    commits.close()
  }
}

const both = (first: () => void, second: (() => void) | undefined) => () => {
  first()
  second?.()
}

/** A feed may take seconds to answer; after an abort the reader gets null at once. */
function unlessAborted<T>(signal: AbortSignal, answer: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(null)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

interface CommitSignal {
  /** True after a commit; false after `ms` or an abort. */
  wait(ms: number): Promise<boolean>
  close(): void
}

/** Remembers commits since the last wait, so none is lost between reading and waiting. */
export function commitSignal(
  listen: (wake: () => void) => () => void,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): CommitSignal {
  let pending = true
  let wake = (): void => undefined
  const close = listen(() => {
    pending = true
    wake()
  })
  const sleep = (ms: number) =>
    new Promise<void>(resolve => {
      wake = () => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = clock.after(ms, wake)
      signal.addEventListener('abort', wake)
    })
  return {
    close,
    async wait(ms) {
      if (!pending && !signal.aborted) await sleep(ms)
      const hasCommit = pending
      pending = false
      return hasCommit
    },
  }
}

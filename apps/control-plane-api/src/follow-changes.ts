import type { Clock } from '@lcm/runtime/clock'
import type { Change, ChangeFeed } from '@lcm/store/store'

const BATCH = 100

export type Followed =
  | { readonly kind: 'change'; readonly change: Change }
  /** The position was too old or unknown: whoever follows must read everything again. Changes go on from now. */
  | { readonly kind: 'reset' }
  /** Nothing happened for the given time. */
  | { readonly kind: 'idle' }

/** Reads the feed at the reader's own pace until `signal` aborts. Nothing is queued, so a slow reader costs nothing. */
export async function* followChanges(
  feed: ChangeFeed,
  from: string,
  options: { clock: Clock; idleMs: number; signal: AbortSignal },
): AsyncGenerator<Followed> {
  const commits = commitBell(feed, options)
  let position = from
  try {
    while (!options.signal.aborted) {
      const answer = await feed.since(position, BATCH)
      if (!answer.known) {
        position = await feed.position()
        yield { kind: 'reset' }
        continue
      }
      for (const change of answer.changes) {
        yield { kind: 'change', change }
        position = change.position
      }
      if (answer.changes.length < BATCH && !(await commits.ring(options.idleMs)) && !options.signal.aborted)
        yield { kind: 'idle' }
    }
  } finally {
    commits.close()
  }
}

/** Rings for commits since it was last asked, so none slips in between reading and waiting. */
function commitBell(feed: ChangeFeed, { clock, signal }: { clock: Clock; signal: AbortSignal }) {
  let pending = true
  let nap = new AbortController()
  const close = feed.onCommit(() => {
    pending = true
    nap.abort()
  })
  return {
    close,
    /** True at a commit, false when `ms` passed or the signal aborted first. */
    async ring(ms: number): Promise<boolean> {
      if (!pending && !signal.aborted) {
        nap = new AbortController()
        const stop = () => nap.abort()
        signal.addEventListener('abort', stop)
        await clock.sleep(ms, nap.signal)
        signal.removeEventListener('abort', stop)
      }
      const rang = pending
      pending = false
      return rang
    },
  }
}

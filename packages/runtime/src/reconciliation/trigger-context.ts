import type { AddOptions, Listing, TriggerContext } from '../triggers/trigger.ts'
import { forgetKey, type Loop, type Term } from './loop.ts'

/** A listing waits while more keys than this are due. */
const LISTING_BACKLOG_MAX = 5_000
const LISTING_BACKLOG_CHECK_MS = 50
/** A full queue refuses key after key; one line per this many says it well enough. */
const OVERFLOWS_PER_LOG_LINE = 1_000

/** Everything here checks that the term still runs, since a trigger may be late to notice its end. */
export function triggerContext<R>(loop: Loop<R>, term: Term): TriggerContext<R> {
  const { clock, backoff } = loop.options
  return {
    signal: term.signal,
    clock,
    backoff,
    logger: term.logger,
    add: (key, cause, when) => add(loop, term, key, { ...when, cause }),
    forget: key => forgetKey(loop, term, key),
    seen: key => term.states.read(key),
    openListing: cause => openListing(loop, term, cause),
    async waitForCapacity() {
      while (loop.queue.due > LISTING_BACKLOG_MAX && !term.signal.aborted) {
        await clock.sleep(LISTING_BACKLOG_CHECK_MS, term.signal)
      }
    },
    countWatchEvent: type => loop.metrics.watchEvents[type](),
  }
}

function add<R>(loop: Loop<R>, term: Term, key: string, news: AddOptions & { cause: string }): void {
  if (term.signal.aborted) return
  try {
    loop.queue.add(key, news)
  } catch (err) {
    noteOverflow(term, key, err)
  }
}

function offer<R>(loop: Loop<R>, term: Term, key: string, routine: { cause: string; copy: R | undefined }): void {
  if (term.signal.aborted) return
  try {
    loop.queue.offer(key, routine)
  } catch (err) {
    noteOverflow(term, key, err)
  }
}

/** A key that finds no room is lost to this trigger and said aloud; the next listing brings it again. */
function noteOverflow(term: Term, key: string, err: unknown): void {
  if (term.overflows % OVERFLOWS_PER_LOG_LINE === 0) term.logger.error({ key, err }, 'key could not be queued')
  term.overflows += 1
}

function openListing<R>(loop: Loop<R>, term: Term, cause: string): Listing<R> {
  const touched = loop.queue.openListing()
  const known = term.states.openListing()
  return {
    offer(key, copy) {
      known.mark(key)
      offer(loop, term, key, { cause, copy: touched.isTouched(key) ? undefined : copy })
    },
    mark: key => known.mark(key),
    completeSweep() {
      known.purge()
      loop.lastSweptAt = loop.options.clock.now()
    },
    close: () => touched.close(),
  }
}

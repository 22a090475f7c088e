import type { ChangeHint } from '@lcm/coordination/change-keys'
import {
  type Clock,
  exponentialBackoff,
  type HostedService,
  isCompacted,
  type LinkedAbort,
  linkedAbort,
  WatchCompacted,
  type WatchListing,
  type WatchMessage,
} from '@lcm/runtime'
import { type ChangeFeed, type ChangesAnswer, StoreError } from '@lcm/store/store'
import { catchUp, hasReached, UNKNOWN } from './catch-up.ts'
import { type ChangeKeyParts, type ChangeReader, changeReader } from './change-reader.ts'
import { type ChangeRing, changeRing } from './change-ring.ts'
import { type FeedPosition, formatPosition, isAfter, parsePosition } from './feed-position.ts'
import { versionFilter } from './version-filter.ts'

export interface ChangeKeyFeedParts extends ChangeKeyParts {
  /** Number of newest changes in memory. */
  readonly changesKept?: number
}

const CHANGES_KEPT = 10_000
const FIRST_LIST_MS = 10_000
/** A client that comes from another replica may be some revisions ahead of this one. */
const AHEAD_MS = 2_000
/** A stream without any message for this long is closed. */
const SILENT_MS = 10_000
const backoffMs = exponentialBackoff({ baseMs: 500, maxMs: 10_000 })

/** State since a list of all keys. */
interface History {
  readonly reader: ChangeReader
  readonly ring: ChangeRing
  readonly lineage: Lineage
  /** By position and limit: concurrent callers with the same arguments share one answer. */
  readonly catchUps: Map<string, Promise<ChangesAnswer>>
}

/** The same object until etcd is rebuilt, which invalidates all earlier revisions. */
interface Lineage {
  /** Earlier revisions belong to the previous lineage. */
  readonly floor: number
}

interface Feed {
  readonly parts: ChangeKeyFeedParts
  readonly listeners: Set<() => void>
  readonly waiting: Set<() => void>
  readonly stopping: LinkedAbort
  history: History | null
  mustList: boolean
  isReplaced: boolean
  failures: number
  /** Whether the previous stream ended in compaction. */
  wasCompacted: boolean
}

/**
 * Changes in the order of their change keys' revisions, so that every replica publishes the same at the same position. A
 * change is published after its commit, and a position is never ahead of what was delivered here: a client that reads the
 * position, then documents, then follows from the position misses nothing.
 */
export function changeKeyFeed(parts: ChangeKeyFeedParts): { feed: ChangeFeed; service: HostedService } {
  const feed: Feed = {
    parts,
    listeners: new Set(),
    waiting: new Set(),
    stopping: linkedAbort(),
    history: null,
    mustList: true,
    isReplaced: false,
    failures: 0,
    wasCompacted: false,
  }
  return {
    feed: {
      position: async () => formatPosition((await historyOf(feed)).reader.at),
      since: (position, limit) => since(feed, position, limit),
      onCommit(wake) {
        feed.listeners.add(wake)
        return () => feed.listeners.delete(wake)
      },
    },
    service: { name: 'change-key-feed', run: signal => run(feed, signal) },
  }
}

async function since(feed: Feed, text: string, limit: number): Promise<ChangesAnswer> {
  const position = parsePosition(text)
  if (position === null) return UNKNOWN
  const { lineage } = await historyOf(feed)
  await until(feed, () => position.revision <= (feed.history?.reader.at.revision ?? -1), AHEAD_MS)
  const { history } = feed
  if (history === null || history.lineage !== lineage || position.revision < lineage.floor) return UNKNOWN
  if (position.revision > history.reader.at.revision) return nothingAfter(feed, position)
  if (isAfter(history.ring.from, position)) return catchUpOnce(feed, history, { position, limit })
  return { known: true, changes: history.ring.after(position, limit).map(({ change }) => change) }
}

/**
 * Other keys in etcd advance its revision without a message on our stream, so a position ahead of the stream may be valid,
 * with no change between.
 */
async function nothingAfter({ parts, stopping }: Feed, { revision }: FeedPosition): Promise<ChangesAnswer> {
  return (await hasReached(parts, revision, stopping.signal)) ? { known: true, changes: [] } : UNKNOWN
}

function catchUpOnce(
  { parts, stopping }: Feed,
  { ring, catchUps }: History,
  query: { readonly position: FeedPosition; readonly limit: number },
): Promise<ChangesAnswer> {
  const name = `${formatPosition(query.position)} ${query.limit}`
  const pending = catchUps.get(name)
  if (pending !== undefined) return pending
  const answer = catchUp({ ...query, parts, ring, signal: stopping.signal }).finally(() => catchUps.delete(name))
  catchUps.set(name, answer)
  return answer
}

async function historyOf(feed: Feed): Promise<History> {
  await until(feed, () => feed.history !== null, FIRST_LIST_MS)
  if (feed.history !== null) return feed.history
  throw new StoreError('Listing changes from etcd has not succeeded yet. Check that etcd is reachable and try again.')
}

/** Waits until the condition holds, at most this long and not beyond the end of the service. */
function until({ parts, waiting, stopping }: Feed, holds: () => boolean, ms: number): Promise<void> {
  const isOver = () => stopping.signal.aborted || holds()
  if (isOver()) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      waiting.delete(check)
      cancel()
      resolve()
    }
    const check = () => {
      if (isOver()) end()
    }
    const cancel = parts.clock.after(ms, end)
    waiting.add(check)
  })
}

function wakeWaiting({ waiting }: Feed): void {
  for (const check of waiting) check()
}

function wakeListeners({ listeners }: Feed): void {
  for (const wake of listeners) queueMicrotask(wake)
}

async function run(feed: Feed, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      const broken = await follow(feed, signal)
      if (!signal.aborted) await waitToReconnect(feed, broken, signal)
    }
  } finally {
    feed.stopping.abort(new Error('the change feed has stopped'))
    wakeWaiting(feed)
  }
}

/** Compaction is no failure of the stream, so the first one is followed by a list at once; repeated ones back off. */
async function waitToReconnect(feed: Feed, err: unknown, signal: AbortSignal): Promise<void> {
  const { clock, log } = feed.parts
  const isFirst = isCompacted(err) && !feed.wasCompacted
  feed.wasCompacted = isCompacted(err)
  if (isFirst) return log.info({}, 'change feed lists all keys again')
  const delayMs = backoffMs(feed.failures)
  feed.failures += 1
  log.warn({ failures: feed.failures, delayMs, err }, 'change feed failed; reconnecting')
  await clock.sleep(delayMs, signal)
}

/** One stream from open to end; returns what ended it. */
async function follow(feed: Feed, signal: AbortSignal): Promise<unknown> {
  const { source, clock } = feed.parts
  const stream = linkedAbort(signal)
  const watchdog = silenceWatchdog(clock, () => stream.abort(new Error(`no message for ${SILENT_MS} ms`)))
  try {
    const history = await openedHistory(feed, stream.signal)
    watchdog.sign()
    const after = history.reader.at.revision
    for await (const message of source.watch(after, stream.signal)) {
      watchdog.sign()
      if (message.revision < after) throw historyReplaced(feed, after)
      receive(feed, history, message)
    }
    return stream.signal.aborted ? stream.signal.reason : new Error('the stream ended')
  } catch (error) {
    if (isCompacted(error)) feed.mustList = true
    return stream.signal.aborted ? stream.signal.reason : error
  } finally {
    watchdog.stop()
    stream.unlink()
  }
}

async function openedHistory(feed: Feed, signal: AbortSignal): Promise<History> {
  if (feed.history !== null && !feed.mustList) return feed.history
  const listing = await feed.parts.source.list(signal)
  if (listing.revision < (feed.history?.reader.at.revision ?? 0)) feed.isReplaced = true
  const history = historyFrom(feed.parts, listing, lineageOf(feed, listing.revision))
  feed.history = history
  feed.mustList = false
  feed.isReplaced = false
  wakeWaiting(feed)
  wakeListeners(feed)
  return history
}

const lineageOf = ({ history, isReplaced }: Feed, revision: number): Lineage =>
  isReplaced ? { floor: revision } : (history?.lineage ?? { floor: 0 })

function historyFrom(parts: ChangeKeyFeedParts, listing: WatchListing<ChangeHint>, lineage: Lineage): History {
  const { entries, revision } = listing
  const { changesKept = CHANGES_KEPT } = parts
  const versions = versionFilter(changesKept)
  for (const { key, hint } of entries) versions.accept(key, hint.version)
  const at = { revision, nth: entries.filter(entry => entry.revision === revision).length }
  const reader = changeReader(parts, at, versions)
  return { reader, ring: changeRing(at, changesKept), lineage, catchUps: new Map() }
}

/** Lower revisions mean another history, such as a rebuilt etcd. Until the next list there is no position. */
function historyReplaced(feed: Feed, after: number): WatchCompacted {
  feed.history = null
  feed.isReplaced = true
  return new WatchCompacted(after)
}

function receive(feed: Feed, { reader, ring }: History, message: WatchMessage<ChangeHint>): void {
  if (feed.failures > 0) feed.parts.log.info({ failures: feed.failures }, 'change feed is connected again')
  feed.failures = 0
  feed.wasCompacted = false
  const change = reader.read(message)
  if (change !== null) {
    ring.add(change)
    wakeListeners(feed)
  }
  wakeWaiting(feed)
}

/** Messages are frequent, so only their time is stored; one timer checks it. */
function silenceWatchdog(clock: Clock, onSilence: () => void): { sign(): void; stop(): void } {
  let lastSignAt = clock.monotonic()
  const check = () => {
    const leftMs = lastSignAt + SILENT_MS - clock.monotonic()
    if (leftMs <= 0) onSilence()
    else cancel = clock.after(leftMs, check)
  }
  let cancel = clock.after(SILENT_MS, check)
  return {
    sign() {
      lastSignAt = clock.monotonic()
    },
    stop: () => cancel(),
  }
}

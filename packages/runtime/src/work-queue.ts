import type { Clock } from './clock.ts'
import { type IndexedHeap, indexedHeap, NOT_IN_HEAP } from './indexed-heap.ts'

/**
 * A keyed queue with two verbs. `add` is a change: the earliest time wins. `offer` is routine: it never ends a wait
 * early. A key is active once at a time; changes in the meantime are kept and handed out after.
 */
export interface WorkQueue<R = unknown> {
  /**
   * Throws `WorkQueueFull` for one distinct key too many. A change drops a copy that was listed before it. With
   * `goesFirst` it is handed out before all other changes.
   */
  add(key: string, options?: { readonly afterMs?: number; readonly cause?: string; readonly goesFirst?: boolean }): void
  /**
   * Throws `WorkQueueFull` for one distinct key too many. `copy` is handed out with the key unless a change comes
   * first.
   */
  offer(key: string, options?: { readonly copy?: R | undefined; readonly cause?: string }): void
  /** Drops the plans of the key, and what its active work will request. Later changes count. */
  forget(key: string): void
  /** Hands out the most urgent due key: goes-first, changes, requeues, resyncs; first come first served within each. */
  take(): WorkItem<R> | undefined
  /** Returns a key. */
  done(item: WorkItem<R>, again?: Again): void
  /** From now until it is closed, records which keys were handed out or changed: their listed copies are stale. */
  openListing(): QueueListing
  /** Drops all but active keys. */
  clear(): void
  /** Keys that are due or delayed. */
  readonly depth: number
  /** Keys that are due. */
  readonly due: number
  /** Age of the oldest due key. */
  oldestAgeMs(): number
}

/** Read it before the first `await`: a change during the work is recorded in the same place. */
export interface WorkItem<R = unknown> {
  readonly key: string
  readonly cause: string
  readonly copy: R | undefined
  /** When the first change of this key arrived, by the monotonic clock; negative when there was none. */
  readonly newsAt: number
}

/** When the work wants its key again. */
export interface Again {
  readonly afterMs: number
  readonly cause: string
}

export interface QueueListing {
  isTouched(key: string): boolean
  close(): void
}

export interface WorkQueueOptions {
  readonly clock: Clock
  /** Called whenever keys may have become due; must not take them itself. */
  readonly onDue?: () => void
  readonly keysMax?: number
}

export const WORK_QUEUE_KEYS_MAX = 1_000_000

export class WorkQueueFull extends Error {
  readonly code = 'work_queue_full'
  constructor(key: string, keysMax: number) {
    super(`can't queue ${key}: ${keysMax} distinct keys are queued, more than there can be resources`)
    this.name = 'WorkQueueFull'
  }
}

const FIRST = 0
const NEWS = 1
const REQUEUE = 2
const RESYNC = 3
type Rank = typeof FIRST | typeof NEWS | typeof REQUEUE | typeof RESYNC
const RANKS: readonly Rank[] = [FIRST, NEWS, REQUEUE, RESYNC]

type Place = 'nowhere' | 'due' | 'waiting' | 'held'

interface Entry<R> {
  readonly key: string
  isActive: boolean
  isForgotten: boolean
  place: Place
  rank: Rank
  /** When it becomes or became due, by the monotonic clock; it only grows along a line, so the first is the oldest. */
  at: number
  newsAt: number
  cause: string
  copy: R | undefined
  slot: number
  ahead: Entry<R> | undefined
  behind: Entry<R> | undefined
}

interface Line<R> {
  size: number
  first: Entry<R> | undefined
  last: Entry<R> | undefined
}

interface Queue<R> {
  readonly clock: Clock
  readonly onDue: () => void
  readonly keysMax: number
  readonly entries: Map<string, Entry<R>>
  readonly lines: Readonly<Record<Rank, Line<R>>>
  readonly waiting: IndexedHeap<Entry<R>>
  readonly listings: Set<Set<string>>
  held: number
  timerAt: number
  cancelTimer: () => void
}

const nothing = () => undefined
const emptyLine = <R>(): Line<R> => ({ size: 0, first: undefined, last: undefined })

export function workQueue<R = unknown>(options: WorkQueueOptions): WorkQueue<R> {
  const queue: Queue<R> = {
    clock: options.clock,
    onDue: options.onDue ?? nothing,
    keysMax: options.keysMax ?? WORK_QUEUE_KEYS_MAX,
    entries: new Map(),
    lines: [emptyLine(), emptyLine(), emptyLine(), emptyLine()],
    waiting: indexedHeap((a, b) => a.at < b.at),
    listings: new Set(),
    held: 0,
    timerAt: Number.POSITIVE_INFINITY,
    cancelTimer: nothing,
  }
  return {
    add: (key, { afterMs = 0, cause = 'news', goesFirst = false } = {}) =>
      add(queue, key, { afterMs, cause, rank: goesFirst ? FIRST : NEWS }),
    offer: (key, { copy, cause = 'resync' } = {}) => offer(queue, key, copy, cause),
    forget: key => forget(queue, key),
    take: () => take(queue),
    // Every item is an entry of ours: `take` alone makes them.
    done: (item, again) => done(queue, item as Entry<R>, again),
    openListing: () => openListing(queue),
    clear: () => clear(queue),
    get depth() {
      return dueCount(queue) + queue.waiting.size + queue.held
    },
    get due() {
      return dueCount(queue)
    },
    oldestAgeMs: () => oldestAgeMs(queue),
  }
}

interface News {
  readonly afterMs: number
  readonly cause: string
  readonly rank: typeof FIRST | typeof NEWS
}

function add<R>(queue: Queue<R>, key: string, { afterMs, cause, rank }: News): void {
  touch(queue, key)
  const now = queue.clock.monotonic()
  const entry = queue.entries.get(key) ?? admit(queue, key)
  entry.copy = undefined
  if (entry.place === 'nowhere' || entry.newsAt < 0) entry.newsAt = now
  const at = laterBy(now, afterMs)
  const isPlanned = entry.place !== 'nowhere'
  if (isPlanned && entry.rank <= rank && entry.at <= at) return
  const earliest = isPlanned ? Math.min(entry.at, at) : at
  displace(queue, entry)
  plan(entry, earliest, isPlanned && entry.rank === FIRST ? FIRST : rank, cause)
  place(queue, entry, now)
}

function offer<R>(queue: Queue<R>, key: string, copy: R | undefined, cause: string): void {
  const entry = queue.entries.get(key) ?? admit(queue, key)
  if (entry.place === 'due' && entry.rank === RESYNC) entry.copy = copy
  if (entry.place !== 'nowhere') return
  const now = queue.clock.monotonic()
  // The active reconcile may be changing the resource right now, so the copy is stale.
  entry.copy = entry.isActive ? undefined : copy
  entry.newsAt = -1
  plan(entry, now, RESYNC, cause)
  place(queue, entry, now)
}

function forget<R>(queue: Queue<R>, key: string): void {
  touch(queue, key)
  const entry = queue.entries.get(key)
  if (entry === undefined) return
  displace(queue, entry)
  if (entry.isActive) entry.isForgotten = true
  else queue.entries.delete(key)
}

function take<R>(queue: Queue<R>): WorkItem<R> | undefined {
  const { lines } = queue
  const entry = lines[FIRST].first ?? lines[NEWS].first ?? lines[REQUEUE].first ?? lines[RESYNC].first
  if (entry === undefined) return undefined
  displace(queue, entry)
  entry.isActive = true
  touch(queue, entry.key)
  return entry
}

function done<R>(queue: Queue<R>, entry: Entry<R>, again: Again | undefined): void {
  if (!entry.isActive) throw new Error(`${entry.key} was returned but is not active`)
  const isPlanned = entry.place === 'held'
  const asksAgain = again !== undefined && !entry.isForgotten
  displace(queue, entry)
  entry.isActive = false
  entry.isForgotten = false
  if (!isPlanned && !asksAgain) {
    queue.entries.delete(entry.key)
    return
  }
  const now = queue.clock.monotonic()
  if (asksAgain) replan(entry, laterBy(now, again.afterMs), again.cause, isPlanned && entry.rank <= NEWS)
  place(queue, entry, now)
}

/** A change overrides the work's own request, which replaces a resync: a poll must not end a backoff early. */
function replan<R>(entry: Entry<R>, at: number, cause: string, hasNews: boolean): void {
  if (hasNews) {
    entry.at = Math.min(entry.at, at)
    return
  }
  entry.copy = undefined
  entry.newsAt = -1
  plan(entry, at, REQUEUE, cause)
}

function openListing<R>(queue: Queue<R>): QueueListing {
  const touched = new Set<string>()
  queue.listings.add(touched)
  return { isTouched: key => touched.has(key), close: () => void queue.listings.delete(touched) }
}

function clear<R>(queue: Queue<R>): void {
  for (const entry of queue.entries.values()) {
    displace(queue, entry)
    if (entry.isActive) entry.isForgotten = true
    else queue.entries.delete(entry.key)
  }
  disarm(queue)
}

function admit<R>(queue: Queue<R>, key: string): Entry<R> {
  if (queue.entries.size >= queue.keysMax) throw new WorkQueueFull(key, queue.keysMax)
  const entry: Entry<R> = {
    key,
    isActive: false,
    isForgotten: false,
    place: 'nowhere',
    rank: RESYNC,
    at: 0,
    newsAt: -1,
    cause: '',
    copy: undefined,
    slot: NOT_IN_HEAP,
    ahead: undefined,
    behind: undefined,
  }
  queue.entries.set(key, entry)
  return entry
}

function plan<R>(entry: Entry<R>, at: number, rank: Rank, cause: string): void {
  entry.at = at
  entry.rank = rank
  entry.cause = cause
}

function place<R>(queue: Queue<R>, entry: Entry<R>, now: number): void {
  if (entry.isActive) {
    entry.place = 'held'
    queue.held += 1
  } else if (entry.at <= now) {
    joinLine(queue, entry, now)
    queue.onDue()
  } else {
    entry.place = 'waiting'
    queue.waiting.push(entry)
    arm(queue, now)
  }
}

function displace<R>(queue: Queue<R>, entry: Entry<R>): void {
  if (entry.place === 'due') leaveLine(queue.lines[entry.rank], entry)
  else if (entry.place === 'waiting') queue.waiting.remove(entry)
  else if (entry.place === 'held') queue.held -= 1
  entry.place = 'nowhere'
}

function joinLine<R>(queue: Queue<R>, entry: Entry<R>, now: number): void {
  const line = queue.lines[entry.rank]
  entry.at = now
  entry.place = 'due'
  entry.ahead = line.last
  if (line.last) line.last.behind = entry
  else line.first = entry
  line.last = entry
  line.size += 1
}

function leaveLine<R>(line: Line<R>, entry: Entry<R>): void {
  if (entry.ahead) entry.ahead.behind = entry.behind
  else line.first = entry.behind
  if (entry.behind) entry.behind.ahead = entry.ahead
  else line.last = entry.ahead
  entry.ahead = undefined
  entry.behind = undefined
  line.size -= 1
}

/** One timer for all waits: it is set for the earliest, and moved only when an earlier one comes. */
function arm<R>(queue: Queue<R>, now: number): void {
  const next = queue.waiting.peek()
  if (next === undefined || next.at >= queue.timerAt) return
  queue.cancelTimer()
  queue.timerAt = next.at
  queue.cancelTimer = queue.clock.after(next.at - now, () => ring(queue))
}

function disarm<R>(queue: Queue<R>): void {
  queue.cancelTimer()
  queue.timerAt = Number.POSITIVE_INFINITY
}

/** Timers may fire early, so only keys that are due by the clock move on, and the timer is set again for the rest. */
function ring<R>(queue: Queue<R>): void {
  disarm(queue)
  const now = queue.clock.monotonic()
  for (let next = queue.waiting.peek(); next && next.at <= now; next = queue.waiting.peek()) {
    queue.waiting.remove(next)
    joinLine(queue, next, now)
  }
  queue.onDue()
  arm(queue, now)
}

function touch<R>(queue: Queue<R>, key: string): void {
  if (queue.listings.size > 0) for (const touched of queue.listings) touched.add(key)
}

const dueCount = <R>({ lines }: Queue<R>) =>
  lines[FIRST].size + lines[NEWS].size + lines[REQUEUE].size + lines[RESYNC].size

function oldestAgeMs<R>({ lines, clock }: Queue<R>): number {
  const now = clock.monotonic()
  return Math.max(...RANKS.map(rank => now - (lines[rank].first?.at ?? now)))
}

/** Anything but a positive number means now: NaN would corrupt the order of the heap. */
const laterBy = (now: number, afterMs: number) => now + (afterMs > 0 ? afterMs : 0)

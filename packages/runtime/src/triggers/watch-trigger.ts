import { linkedAbort } from '../linked-abort.ts'
import type { Trigger, TriggerContext, WatchHealth } from './trigger.ts'
import { isCompacted, WatchCompacted, type WatchEntry, type WatchMessage, type WatchSource } from './watch-source.ts'

export interface WatchOptions<Hint> {
  readonly source: WatchSource<Hint>
  /** The resource key of a change key, or null for a change key of another kind. */
  parseKey(changeKey: string): string | null
  /** Whether the list that opens the watch adds this key at once: transitional, or not as desired. Default: no key. */
  isUrgent?(hint: Hint): boolean
  /** Whether a put wakes the key. Default: every put does. */
  wakes?(hint: Hint): boolean
  /**
   * Whether a change goes before all other work, and without debounce: a request that no controller serves yet.
   * Default: none.
   */
  goesFirst?(hint: Hint): boolean
  readonly name?: string
  readonly debounceMs?: number
  readonly reconnectDelayMs?: number
  readonly reconnectDelayMaxMs?: number
  readonly reconnectAttemptsMax?: number
  /** A stream without a message for this long is closed and opened again. */
  readonly stallMs?: number
}

interface View {
  connected: boolean
  attempts: number
  /** Revision to resume after; null lists first. */
  resumeAfter: number | null
  /** The last revision seen in this term: a list after compaction adds all that changed since. */
  seenRevision: number | null
  lastSignAt: number | null
  /** Whether the stream before this one ended in compaction. */
  wasCompacted: boolean
}

interface Watching<Hint> {
  readonly options: Required<WatchOptions<Hint>>
  readonly context: TriggerContext
  readonly debounce: Debounce
  readonly view: View
}

const freshView = (): View => ({
  connected: false,
  attempts: 0,
  resumeAfter: null,
  seenRevision: null,
  lastSignAt: null,
  wasCompacted: false,
})

/**
 * List at a revision, then every change after it. A broken stream resumes where it was, a compacted one lists again:
 * never a gap. It gives up never; after `reconnectAttemptsMax` attempts in a row it calls itself degraded. The one thing
 * a new list cannot tell, a key that was deleted meanwhile, is found by the next sweep.
 */
export function watch<Hint>(given: WatchOptions<Hint>): Trigger {
  const options = withDefaults(given)
  let view = freshView()
  return {
    name: options.name,
    run(context) {
      view = freshView()
      return keepWatching({ options, context, debounce: leadingEdge(options.debounceMs), view })
    },
    watchHealth: monotonicMs => healthOf(options, view, monotonicMs),
  }
}

const withDefaults = <Hint>(given: WatchOptions<Hint>): Required<WatchOptions<Hint>> => ({
  name: 'watch',
  debounceMs: 500,
  reconnectDelayMs: 1_000,
  reconnectDelayMaxMs: 10_000,
  reconnectAttemptsMax: 10,
  stallMs: 10_000,
  isUrgent: () => false,
  wakes: () => true,
  goesFirst: () => false,
  ...given,
})

const healthOf = <Hint>(options: Required<WatchOptions<Hint>>, view: View, monotonicMs: number): WatchHealth => ({
  name: options.name,
  connected: view.connected,
  degraded: view.attempts >= options.reconnectAttemptsMax,
  attempts: view.attempts,
  age_ms: view.lastSignAt === null ? null : monotonicMs - view.lastSignAt,
  revision: view.seenRevision,
})

async function keepWatching<Hint>(watching: Watching<Hint>): Promise<void> {
  const { context, view } = watching
  while (!context.signal.aborted) {
    const broken = await follow(watching)
    view.connected = false
    if (context.signal.aborted) return
    if (isFirstCompaction(view, broken)) context.logger.info({ watch: watching.options.name }, 'watch lists again')
    else await waitToReconnect(watching, broken)
  }
}

/** Compaction is not a fault of the stream, so the list follows at once; but repeated compaction must not spin. */
function isFirstCompaction(view: View, broken: unknown): boolean {
  const isFirst = isCompacted(broken) && !view.wasCompacted
  view.wasCompacted = isCompacted(broken)
  return isFirst
}

async function waitToReconnect<Hint>(watching: Watching<Hint>, broken: unknown): Promise<void> {
  const { context, view } = watching
  view.attempts += 1
  const delayMs = reconnectDelayMs(watching)
  report(watching, broken, delayMs)
  await context.clock.sleep(delayMs, context.signal)
}

const reconnectDelayMs = <Hint>({ options, view }: Watching<Hint>) =>
  Math.min(options.reconnectDelayMs * view.attempts, options.reconnectDelayMaxMs)

function report<Hint>({ options, context, view }: Watching<Hint>, err: unknown, delayMs: number): void {
  const fields = { watch: options.name, attempts: view.attempts, delayMs, err }
  if (view.attempts === options.reconnectAttemptsMax)
    context.logger.error(fields, 'watch is degraded; it goes on trying')
  else context.logger.warn(fields, 'watch is broken')
}

/** One stream from its opening to its end; returns what ended it. */
async function follow<Hint>(watching: Watching<Hint>): Promise<unknown> {
  const { options, context, view } = watching
  const stream = linkedAbort(context.signal)
  const stall = stallGuard(watching, () => stream.abort(new Error(`no sign of life for ${options.stallMs} ms`)))
  try {
    const after = view.resumeAfter ?? (await openWithList(watching, stream.signal, stall))
    for await (const message of options.source.watch(after, stream.signal)) {
      stall.alive()
      if (message.revision < after) throw historyReplaced(view, after)
      receive(watching, message)
    }
    return stream.signal.aborted ? stream.signal.reason : new Error('the stream ended')
  } catch (error) {
    if (isCompacted(error)) view.resumeAfter = null
    return stream.signal.aborted ? stream.signal.reason : error
  } finally {
    stall.stop()
    stream.unlink()
  }
}

/** Revisions that go back mean another history, such as a rebuilt etcd: our revisions mean nothing in it. */
function historyReplaced(view: View, after: number): WatchCompacted {
  view.seenRevision = -1
  return new WatchCompacted(after)
}

async function openWithList<Hint>(watching: Watching<Hint>, signal: AbortSignal, stall: StallGuard): Promise<number> {
  const { options, context, view } = watching
  const { entries, revision } = await options.source.list(signal)
  stall.alive()
  for (const entry of entries) {
    guarded(watching, entry.key, () => {
      const key = options.parseKey(entry.key)
      if (key === null || !isListedNews(watching, entry)) return
      context.add(key, 'watch list', { goesFirst: options.goesFirst(entry.hint) })
    })
  }
  view.resumeAfter = revision
  view.seenRevision = revision
  return revision
}

/** The first list of a term wakes urgent keys; a list after compaction wakes keys that changed during the gap. */
function isListedNews<Hint>({ options, view }: Watching<Hint>, { hint, revision }: WatchEntry<Hint>): boolean {
  return view.seenRevision === null ? options.isUrgent(hint) : revision > view.seenRevision && options.wakes(hint)
}

function receive<Hint>(watching: Watching<Hint>, message: WatchMessage<Hint>): void {
  const { options, context, view } = watching
  if (view.attempts > 0) context.logger.info({ watch: options.name, attempts: view.attempts }, 'watch is back')
  view.connected = true
  view.attempts = 0
  view.wasCompacted = false
  if (message.type !== 'progress') guarded(watching, message.key, () => handle(watching, message))
  view.resumeAfter = message.revision
  view.seenRevision = message.revision
}

function handle<Hint>({ options, context, debounce }: Watching<Hint>, message: ChangeOf<Hint>): void {
  const key = options.parseKey(message.key)
  if (key === null) return
  context.countWatchEvent(message.type)
  if (message.type === 'delete') context.forget(key)
  else if (options.wakes(message.hint)) {
    // Asked also of what goes first, for the changes that follow it.
    const afterMs = debounce.delayMs(key, context.clock.monotonic())
    const goesFirst = options.goesFirst(message.hint)
    context.add(key, 'watch', { goesFirst, afterMs: goesFirst ? 0 : afterMs })
  }
}

type ChangeOf<Hint> = Exclude<WatchMessage<Hint>, { type: 'progress' }>

/** A change that cannot be read is skipped: the stream would otherwise break on it forever. Never logs the hint. */
function guarded<Hint>({ options, context }: Watching<Hint>, changeKey: string, run: () => void): void {
  try {
    run()
  } catch (err) {
    context.logger.error({ watch: options.name, changeKey, err }, 'change could not be read')
  }
}

interface StallGuard {
  alive(): void
  stop(): void
}

/** Calls `onStall` once `stallMs` pass without a message. Messages only set a flag, since they are many. */
function stallGuard<Hint>({ options, context, view }: Watching<Hint>, onStall: () => void): StallGuard {
  const { clock } = context
  let lastAliveAt = clock.monotonic()
  const check = () => {
    const leftMs = lastAliveAt + options.stallMs - clock.monotonic()
    if (leftMs <= 0) onStall()
    else cancel = clock.after(leftMs, check)
  }
  let cancel = clock.after(options.stallMs, check)
  return {
    alive() {
      lastAliveAt = clock.monotonic()
      view.lastSignAt = lastAliveAt
    },
    stop: () => cancel(),
  }
}

interface Debounce {
  /** Delay of an update of `key`. */
  delayMs(key: string, nowMs: number): number
  /** Number of remembered keys. */
  readonly size: number
}

/**
 * Leading edge: an idle key is not delayed; a change within `windowMs` of the key's last event waits for the end of
 * that window, where changes are merged. Remembers only recently changed keys.
 */
export function leadingEdge(windowMs: number): Debounce {
  const slots = new Map<string, number>()
  return {
    delayMs(key, nowMs) {
      dropQuiet(slots, nowMs - windowMs)
      const next = nextSlot(slots.get(key), nowMs, windowMs)
      slots.delete(key)
      slots.set(key, next)
      return next - nowMs
    },
    get size() {
      return slots.size
    },
  }
}

function nextSlot(slot: number | undefined, nowMs: number, windowMs: number): number {
  if (slot === undefined || nowMs >= slot + windowMs) return nowMs
  return nowMs < slot ? slot : slot + windowMs
}

/** The map is in order of use, so that checking its front is enough. */
function dropQuiet(slots: Map<string, number>, quietSinceMs: number): void {
  for (const [key, slot] of slots) {
    if (slot > quietSinceMs) return
    slots.delete(key)
  }
}

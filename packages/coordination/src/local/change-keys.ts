import {
  type Clock,
  type Pipe,
  pipe,
  WatchCompacted,
  type WatchEntry,
  type WatchMessage,
  type WatchSource,
} from '@lcm/runtime'
import { type ChangeHint, type ChangeKeys, REMOVAL_KEPT_MS, removalHint } from '../change-keys.ts'

type Message = WatchMessage<ChangeHint>

/** Delivery of one change to one stream. */
export interface Delivery {
  readonly delayMs?: number
  /** 0 drops it, 2 delivers it twice. */
  readonly copies?: number
}

export interface LocalChangeKeys {
  readonly keys: ChangeKeys
  /** Counts a write that changes no key, such as one of an election. */
  bumpRevision(): void
  setDelivery(delivery: ((message: Message) => Delivery) | undefined): void
  breakStreams(): void
  freezeStreams(isFrozen: boolean): void
  compact(): void
}

/** Older changes are compacted: a reader that missed more lists again, which is cheap in one process. */
const HISTORY_CHANGES_MAX = 1_000
const PROGRESS_EVERY_MS = 5_000

interface PendingMessage {
  readonly message: Message
  readonly at: number
  readonly copies: number
}

interface Stream {
  readonly prefix: string
  readonly out: Pipe<Message>
  /** In order: a delay never lets one message overtake another. */
  readonly pending: PendingMessage[]
  isFlushPlanned: boolean
  cancelFlush: () => void
}

interface Removal {
  readonly key: string
  readonly revision: number
  readonly endsAt: number
}

interface Store {
  readonly clock: Clock
  readonly entries: Map<string, WatchEntry<ChangeHint>>
  readonly streams: Set<Stream>
  /** In order of expiry. */
  readonly removals: Removal[]
  /** Set while there are streams. */
  cancelProgress: () => void
  history: Message[]
  revision: number
  compactedTo: number
  isFrozen: boolean
  delivery: ((message: Message) => Delivery) | undefined
}

export function localChangeKeys(clock: Clock): LocalChangeKeys {
  const store: Store = {
    clock,
    entries: new Map(),
    streams: new Set(),
    removals: [],
    cancelProgress: () => undefined,
    history: [],
    revision: 0,
    compactedTo: 0,
    isFrozen: false,
    delivery: undefined,
  }
  return {
    keys: {
      publish: async (key, hint) => publish(store, key, hint),
      remove: async (key, version) => remove(store, key, version),
      source: prefix => sourceOf(store, prefix),
    },
    bumpRevision() {
      store.revision += 1
    },
    setDelivery(delivery) {
      store.delivery = delivery
    },
    breakStreams() {
      for (const stream of store.streams) stream.out.end(new Error('the stream broke'))
    },
    freezeStreams(isFrozen) {
      store.isFrozen = isFrozen
      for (const stream of store.streams) flush(store, stream)
    },
    compact: () => compact(store, 0),
  }
}

function publish(store: Store, key: string, hint: ChangeHint): boolean {
  expireRemovals(store)
  const current = store.entries.get(key)
  if (current && current.hint.version >= hint.version) return false
  store.revision += 1
  store.entries.set(key, { key, hint, revision: store.revision })
  announce(store, key, { type: 'put', key, hint, revision: store.revision })
  return true
}

function remove(store: Store, key: string, version: number): boolean {
  if (!publish(store, key, removalHint(key, version, store.entries.get(key)?.hint))) return false
  store.removals.push({ key, revision: store.revision, endsAt: store.clock.monotonic() + REMOVAL_KEPT_MS })
  return true
}

/** Before each write instead of by a timer, which would have to be stopped. */
function expireRemovals(store: Store): void {
  const now = store.clock.monotonic()
  for (let first = store.removals[0]; first && first.endsAt <= now; first = store.removals[0]) {
    store.removals.shift()
    const { key, revision } = first
    if (store.entries.get(key)?.revision !== revision) continue
    store.revision += 1
    store.entries.delete(key)
    announce(store, key, { type: 'delete', key, revision: store.revision })
  }
}

function announce(store: Store, key: string, message: Message): void {
  store.history.push(message)
  if (store.history.length > 2 * HISTORY_CHANGES_MAX) compact(store, HISTORY_CHANGES_MAX)
  for (const stream of store.streams) {
    if (key.startsWith(stream.prefix)) send(store, stream, message, store.delivery?.(message))
  }
}

function compact(store: Store, changesKept: number): void {
  const dropped = store.history.splice(0, store.history.length - changesKept)
  store.compactedTo = changesKept === 0 ? store.revision : (dropped.at(-1)?.revision ?? store.compactedTo)
}

const sourceOf = (store: Store, prefix: string): WatchSource<ChangeHint> => ({
  async list(signal) {
    signal.throwIfAborted()
    const entries = [...store.entries.values()].filter(entry => entry.key.startsWith(prefix))
    return { entries, revision: store.revision }
  },
  watch: (afterRevision, signal) => openStream(store, prefix, afterRevision, signal),
})

function openStream(store: Store, prefix: string, afterRevision: number, signal: AbortSignal): Pipe<Message> {
  const out = pipe<Message>({ signal, onClose: () => close(store, stream) })
  const stream: Stream = {
    prefix,
    out,
    pending: [],
    isFlushPlanned: false,
    cancelFlush: () => undefined,
  }
  if (afterRevision < store.compactedTo) out.end(new WatchCompacted(afterRevision))
  else begin(store, stream, afterRevision)
  return out
}

function begin(store: Store, stream: Stream, afterRevision: number): void {
  if (store.streams.size === 0) planProgress(store)
  store.streams.add(stream)
  send(store, stream, { type: 'progress', revision: Math.min(afterRevision, store.revision) })
  for (const message of store.history) {
    const isMissed = message.revision > afterRevision && message.type !== 'progress'
    if (isMissed && message.key.startsWith(stream.prefix)) send(store, stream, message)
  }
}

function close(store: Store, stream: Stream): void {
  store.streams.delete(stream)
  stream.cancelFlush()
  if (store.streams.size === 0) store.cancelProgress()
}

/** One timer for all streams: in a quiet hour one timer each would dominate. */
function planProgress(store: Store): void {
  store.cancelProgress = store.clock.after(PROGRESS_EVERY_MS, () => {
    planProgress(store)
    if (store.isFrozen) return
    for (const stream of store.streams) send(store, stream, { type: 'progress', revision: store.revision })
  })
}

function send(store: Store, stream: Stream, message: Message, { delayMs = 0, copies = 1 }: Delivery = {}): void {
  const earliest = stream.pending.at(-1)?.at ?? 0
  stream.pending.push({ message, copies, at: Math.max(earliest, store.clock.monotonic() + delayMs) })
  flush(store, stream)
}

function flush(store: Store, stream: Stream): void {
  if (store.isFrozen || stream.isFlushPlanned) return
  const now = store.clock.monotonic()
  for (let next = stream.pending[0]; next && next.at <= now; next = stream.pending[0]) {
    stream.pending.shift()
    for (let copy = 0; copy < next.copies; copy += 1) stream.out.push(next.message)
  }
  const waiting = stream.pending[0]
  if (waiting === undefined) return
  stream.isFlushPlanned = true
  stream.cancelFlush = store.clock.after(waiting.at - now, () => {
    stream.isFlushPlanned = false
    flush(store, stream)
  })
}

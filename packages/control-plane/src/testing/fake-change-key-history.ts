import type { ChangeHint } from '@lcm/coordination/change-keys'
import { type Pipe, pipe, type WatchEntry, type WatchMessage, type WatchSource } from '@lcm/runtime'

type Message = WatchMessage<ChangeHint>
type WithoutRevision<T> = T extends unknown ? Omit<T, 'revision'> : never
/** A put or deletion of a key. */
export type KeyEvent = WithoutRevision<Exclude<Message, { type: 'progress' }>>

/** History of the change keys by revision, as replicas see it at their own pace. */
export interface KeyHistory {
  readonly messages: readonly Message[]
  readonly revision: number
  /** Commits all in one revision, which it returns. */
  commit(...events: readonly KeyEvent[]): number
  view(options?: ViewOptions): KeyView
}

export interface ViewOptions {
  /** Progress messages carry the revision of the last change that was sent, like etcd's, not the current one. */
  readonly hasVagueSigns?: boolean
}

/** Shows the history up to a revision that tests advance. */
export interface KeyView extends WatchSource<ChangeHint> {
  readonly shown: number
  show(upTo: number): void
  breakStreams(): void
}

interface Stream {
  readonly out: Pipe<Message>
  sent: number
  lastChange: number
}

export function keyHistory(): KeyHistory {
  const messages: Message[] = []
  let revision = 0
  return {
    messages,
    get revision() {
      return revision
    },
    commit(...events) {
      revision += 1
      messages.push(...events.map((event): Message => ({ ...event, revision })))
      return revision
    },
    view: (options = {}) => viewOf(messages, options),
  }
}

function viewOf(messages: readonly Message[], { hasVagueSigns = false }: ViewOptions): KeyView {
  const streams = new Set<Stream>()
  let shown = 0
  const send = (stream: Stream) => {
    for (const message of messages) {
      if (message.revision <= stream.sent || message.revision > shown) continue
      stream.out.push(message)
      stream.lastChange = message.revision
    }
    stream.sent = Math.max(stream.sent, shown)
    stream.out.push({ type: 'progress', revision: hasVagueSigns ? stream.lastChange : stream.sent })
  }
  return {
    get shown() {
      return shown
    },
    show(upTo) {
      shown = Math.max(shown, upTo)
      for (const stream of streams) send(stream)
    },
    breakStreams() {
      for (const stream of streams) stream.out.end(new Error('connection reset'))
    },
    list: async () => ({ entries: entriesAt(messages, shown), revision: shown }),
    watch(afterRevision, signal) {
      const out = pipe<Message>({ signal, onClose: () => streams.delete(stream) })
      const stream: Stream = { out, sent: afterRevision, lastChange: afterRevision }
      streams.add(stream)
      out.push({ type: 'progress', revision: Math.min(afterRevision, shown) })
      send(stream)
      return out
    },
  }
}

function entriesAt(messages: readonly Message[], revision: number): WatchEntry<ChangeHint>[] {
  const entries = new Map<string, WatchEntry<ChangeHint>>()
  for (const message of messages) {
    if (message.revision > revision || message.type === 'progress') continue
    if (message.type === 'put') entries.set(message.key, message)
    else entries.delete(message.key)
  }
  return [...entries.values()]
}

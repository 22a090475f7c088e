import { type Pipe, pipe, WatchCompacted, type WatchEntry, type WatchMessage, type WatchSource } from '@lcm/runtime'

/** A watch source that a test controls: it changes, breaks, falls silent and compacts on demand. */
export interface ScriptedWatchSource<Hint> extends WatchSource<Hint> {
  put(key: string, hint: Hint): void
  delete(key: string): void
  /** Sends a heartbeat on every open stream. */
  progress(): void
  breakStreams(error?: Error): void
  /** Makes calls of list and watch reject until it is reset. */
  refuse(isRefusing: boolean): void
  /** Streams opened from now on stay open without messages, and lists never respond. */
  silence(isSilent: boolean): void
  /** Compacts the history: clients that resume must list again. */
  compact(): void
  /** Like a rebuilt store: the keys stay, the revisions start over. */
  restartHistory(): void
  /** Calls so far, such as `list` and `watch after 3`. */
  readonly calls: readonly string[]
  readonly openStreams: number
}

interface Script<Hint> {
  revision: number
  compactedTo: number
  isRefusing: boolean
  isSilent: boolean
  log: WatchMessage<Hint>[]
  readonly entries: Map<string, WatchEntry<Hint>>
  readonly streams: Set<Pipe<WatchMessage<Hint>>>
  readonly calls: string[]
}

export function scriptedWatchSource<Hint>(): ScriptedWatchSource<Hint> {
  const script: Script<Hint> = {
    revision: 0,
    compactedTo: 0,
    isRefusing: false,
    isSilent: false,
    log: [],
    entries: new Map(),
    streams: new Set(),
    calls: [],
  }
  return {
    list: signal => list(script, signal),
    watch: (afterRevision, signal) => open(script, afterRevision, signal),
    put: (key, hint) => put(script, key, hint),
    delete: key => remove(script, key),
    progress: () => send(script, { type: 'progress', revision: script.revision }),
    breakStreams(error = new Error('connection reset')) {
      for (const stream of script.streams) stream.end(error)
    },
    refuse(isRefusing) {
      script.isRefusing = isRefusing
    },
    silence(isSilent) {
      script.isSilent = isSilent
    },
    compact() {
      script.compactedTo = script.revision
      script.log = []
    },
    restartHistory: () => restartHistory(script),
    calls: script.calls,
    get openStreams() {
      return script.streams.size
    },
  }
}

async function list<Hint>(script: Script<Hint>, signal: AbortSignal) {
  script.calls.push('list')
  if (script.isRefusing) throw new Error('connection refused')
  if (script.isSilent) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  return { entries: [...script.entries.values()], revision: script.revision }
}

function open<Hint>(script: Script<Hint>, afterRevision: number, signal: AbortSignal) {
  script.calls.push(`watch after ${afterRevision}`)
  const stream = pipe<WatchMessage<Hint>>({ signal, onClose: () => script.streams.delete(stream) })
  if (script.isRefusing) stream.end(new Error('connection refused'))
  else if (afterRevision < script.compactedTo) stream.end(new WatchCompacted(afterRevision))
  else if (!script.isSilent) {
    script.streams.add(stream)
    stream.push({ type: 'progress', revision: Math.min(afterRevision, script.revision) })
    for (const message of script.log) if (message.revision > afterRevision) stream.push(message)
  }
  return stream
}

function put<Hint>(script: Script<Hint>, key: string, hint: Hint): void {
  script.revision += 1
  script.entries.set(key, { key, hint, revision: script.revision })
  record(script, { type: 'put', key, hint, revision: script.revision })
}

function remove<Hint>(script: Script<Hint>, key: string): void {
  script.revision += 1
  script.entries.delete(key)
  record(script, { type: 'delete', key, revision: script.revision })
}

function record<Hint>(script: Script<Hint>, message: WatchMessage<Hint>): void {
  script.log.push(message)
  send(script, message)
}

function send<Hint>(script: Script<Hint>, message: WatchMessage<Hint>): void {
  for (const stream of script.streams) stream.push(message)
}

function restartHistory<Hint>(script: Script<Hint>): void {
  script.revision = 0
  script.compactedTo = 0
  script.log = []
  const entries = [...script.entries.values()]
  for (const entry of entries) put(script, entry.key, entry.hint)
}

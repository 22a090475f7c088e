import { ApiError, apiClient, type Client, type PositionedEvent } from '@lcm/client/client'
import { eventsUnlessSilent } from '@lcm/client/event-stream-timeout'
import { type PageRequest, readList } from '@lcm/client/list-pages'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { RouteName } from '@lcm/contract/routes'
import type { Clock } from '@lcm/runtime/clock'
import { batch } from '@preact/signals'
import { type Collections, type Connection, LIVE_KINDS, type LiveKind, type LiveState } from './live-state.ts'
import { isAllowed } from './permission.ts'
import { type ServerClock, serverClock } from './server-clock.ts'
import type { Collection, Versioned } from './versioned-collection.ts'

/** Heartbeats arrive every 15 s: after two missed ones the stream is dead, even if the socket is open. */
const SILENCE_MS_MAX = 40_000
/** Every stream starts with a heartbeat. Without one, a proxy may be buffering the stream. */
const FIRST_MESSAGE_MS_MAX = 20_000
const RETRY_MS_FIRST = 1_000
const RETRY_MS_MAX = 10_000
const SIGNED_OUT_RETRY_MS = 5_000
/** After this many consecutive failures, each attempt reloads the lists. */
const FAILURES_BEFORE_POLLING = 4

export interface StreamDeps {
  readonly transport: Dispatch
  readonly clock: Clock
  readonly state: LiveState
}

export interface LiveStream {
  /** Keeps the state up to date until the signal aborts. Never rejects: errors are shown as the connection state. */
  run(signal: AbortSignal): Promise<void>
  /** Ends the wait before the next attempt. */
  retryNow(): void
}

interface Attempting extends StreamDeps {
  readonly server: ServerClock
}

interface Progress {
  /** Position to resume from; null when everything must be loaded first. */
  position: string | null
  failures: number
  /** `following` comes after `listing` in the same attempt, `resuming` without it. */
  doing: 'resuming' | 'listing' | 'following'
  because: string
}

class StreamBroken extends Error {
  override readonly name = 'StreamBroken'
}

export function liveStream(deps: StreamDeps): LiveStream {
  const { clock, state } = deps
  const server = serverClock(clock, state.clockSkewMs)
  let waiting = new AbortController()

  return {
    retryNow: () => waiting.abort(),
    async run(signal) {
      const progress: Progress = { position: null, failures: 0, doing: 'listing', because: '' }
      const stopWaiting = () => waiting.abort()
      signal.addEventListener('abort', stopWaiting)
      while (!signal.aborted) {
        const error: unknown = await connect({ ...deps, server }, progress, signal).catch(reason => reason)
        if (signal.aborted) break
        const waitMs = noteFailure(progress, error)
        state.connection.value = isSignedOut(error)
          ? { state: 'signed-out', signIn: error.problem.sign_in ?? null }
          : brokenConnection(progress, server.now() + waitMs)
        waiting = new AbortController()
        await clock.sleep(waitMs, waiting.signal)
      }
      signal.removeEventListener('abort', stopWaiting)
    },
  }
}

const isSignedOut = (error: unknown): error is ApiError => error instanceof ApiError && error.problem.status === 401
const isPolling = (progress: Progress) => progress.failures >= FAILURES_BEFORE_POLLING

/** Returns the delay before the next attempt. After a sign-out everything is loaded again: the next user may be another. */
function noteFailure(progress: Progress, error: unknown): number {
  progress.because = error instanceof Error ? error.message : String(error)
  if (isSignedOut(error)) {
    progress.position = null
    progress.failures = 0
    return SIGNED_OUT_RETRY_MS
  }
  progress.failures++
  return Math.min(RETRY_MS_FIRST * 2 ** (progress.failures - 1), RETRY_MS_MAX)
}

function brokenConnection(progress: Progress, retryAtMs: number): Connection {
  const { because } = progress
  if (!isPolling(progress) || progress.doing === 'resuming') return { state: 'reconnecting', because, retryAtMs }
  return { state: progress.doing === 'following' ? 'polling' : 'offline', because, retryAtMs }
}

/** One attempt: loads everything if needed, then follows the stream. Always rejects with the reason it ended. */
async function connect(deps: Attempting, progress: Progress, signal: AbortSignal): Promise<never> {
  const { state, clock, server } = deps
  const client = apiClient(server.observing(deps.transport))
  progress.doing = 'resuming'
  if (progress.position === null || isPolling(progress)) {
    progress.doing = 'listing'
    progress.position = await readAll(client, state, signal)
    state.lastMessageAtMs.value = server.now()
    progress.doing = 'following'
  }
  if (isPolling(progress)) state.connection.value = brokenConnection(progress, server.now())
  const follow = { after: progress.position, signal }
  const silence = { clock, firstMs: FIRST_MESSAGE_MS_MAX, betweenMs: SILENCE_MS_MAX }
  for await (const message of eventsUnlessSilent(client, follow, silence)) take(message, deps, progress)
  throw new StreamBroken('the event stream ended')
}

function take({ position, event }: PositionedEvent, { state, server }: Attempting, progress: Progress): void {
  progress.failures = 0
  if (event.type === 'reset') {
    progress.position = null
    throw new StreamBroken('too many changes since the last position; reloading')
  }
  batch(() => {
    // Set only on a change: every write would make readers reload their data.
    if (state.connection.peek().state !== 'live') state.connection.value = { state: 'live' }
    if (event.type === 'heartbeat') server.sync(event.at)
    state.lastMessageAtMs.value = server.now()
    apply(event, state)
  })
  if (position !== null) progress.position = position
}

/** Ignores unknown kinds: the server may be newer than this page. */
function apply(event: PositionedEvent['event'], { live, samples, updates, decisions }: LiveState): void {
  const kind = LIVE_KINDS.find(each => event.type.startsWith(`${each}.`))
  if (event.type === 'metrics.batch') samples.add(event.data)
  else if (event.type === 'decision') {
    updates.publish(event.data.resource)
    decisions.add(event.data)
  } else if (event.type === 'settings.updated' || event.type === 'settings.created') updates.publish('settings')
  else if (event.type.startsWith('plan.')) updates.publish('plan')
  else if (event.type.startsWith('save.')) updates.publish('saves')
  else if (kind !== undefined && 'version' in event) change(keptOf(live, kind), event)
  if (event.type === 'worker.deleted') samples.forget(event.id)
}

interface Change extends Versioned {
  readonly data: object | null
}

function change(kept: Collection<Versioned>, { id, version, data }: Change): void {
  if (data === null) kept.remove(id, version)
  else kept.put(data as Versioned)
}

/** The contract defines the type per kind; here only the version matters. */
const keptOf = (live: Collections, kind: LiveKind) => live[kind] as Collection<never> as Collection<Versioned>

const LISTS = {
  worker: 'listWorkers',
  template: 'listTemplates',
  definition: 'listDefinitions',
  session: 'listSessions',
  lab: 'listLabs',
} as const satisfies Record<LiveKind, RouteName>

/** Returns the position of the first list: events from there cover changes during the other reads. */
async function readAll(client: Client, state: LiveState, signal: AbortSignal): Promise<string> {
  const info = await client.call('info', { signal })
  const lists: { kind: LiveKind; items: Versioned[]; revision: string }[] = []
  for (const kind of LIVE_KINDS.filter(each => isAllowed(info, LISTS[each]))) {
    const more = kind === 'worker' ? { include_terminated: true } : {}
    const read = (page: PageRequest): Promise<{ items: Versioned[]; next_cursor: string | null; revision: string }> =>
      client.call(LISTS[kind], { query: { ...page, ...more }, signal })
    lists.push({ kind, ...(await readList(read)) })
  }
  batch(() => {
    for (const { kind, items } of lists) keptOf(state.live, kind).replaceBy(items)
    state.info.value = info
  })
  return lists[0]?.revision ?? ''
}

import { ApiError } from '@lcm/client/api-error'
import { apiClient, type Client, type PositionedEvent } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import { eventsUnlessSilent } from '@lcm/client/live-events'
import type { Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'
import { batch } from '@preact/signals'
import type { Connection, LiveState } from './live-state.ts'

/** Heartbeats come every 15 s: after two missed ones the stream is dead, whatever the socket says. */
const SILENCE_MS_MAX = 40_000
/** Every stream begins with a heartbeat. One that does not may be a proxy's that keeps everything to itself. */
const FIRST_MESSAGE_MS_MAX = 20_000
const RETRY_MS_FIRST = 1_000
const RETRY_MS_MAX = 10_000
const SIGNED_OUT_RETRY_MS = 5_000
/** From this many failures in a row on, lists are read again with every attempt. */
const FAILURES_BEFORE_POLLING = 4

export interface StreamDeps {
  readonly transport: Dispatch
  readonly clock: Clock
  readonly state: LiveState
}

export interface LiveStream {
  /** Keeps the state true until the signal aborts. It never rejects: what goes wrong is shown as the connection. */
  run(signal: AbortSignal): Promise<void>
  /** Ends the wait before the next attempt. */
  retryNow(): void
}

interface Progress {
  /** Where to resume; null when everything has to be read first. */
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
  let waiting = new AbortController()

  return {
    retryNow: () => waiting.abort(),
    async run(signal) {
      const progress: Progress = { position: null, failures: 0, doing: 'listing', because: '' }
      const stopWaiting = () => waiting.abort()
      signal.addEventListener('abort', stopWaiting)
      while (!signal.aborted) {
        const error: unknown = await connect(deps, progress, signal).catch(reason => reason)
        if (signal.aborted) break
        const waitMs = noteFailure(progress, error)
        state.connection.value = isSignedOut(error)
          ? { state: 'signed-out' }
          : brokenConnection(progress, clock.now() + waitMs)
        waiting = new AbortController()
        await clock.sleep(waitMs, waiting.signal)
      }
      signal.removeEventListener('abort', stopWaiting)
    },
  }
}

const isSignedOut = (error: unknown) => error instanceof ApiError && error.problem.status === 401
const isPolling = (progress: Progress) => progress.failures >= FAILURES_BEFORE_POLLING

/** Answers how long to wait. Whoever signs in next may be somebody else, so then everything is read again. */
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

/** One attempt: read everything if need be, then follow. It always ends by rejecting with the reason. */
async function connect(deps: StreamDeps, progress: Progress, signal: AbortSignal): Promise<never> {
  const { state, clock } = deps
  const client = apiClient(deps.transport)
  progress.doing = 'resuming'
  if (progress.position === null || isPolling(progress)) {
    progress.doing = 'listing'
    progress.position = await readAll(client, state, signal)
    state.heardAtMs.value = clock.now()
    progress.doing = 'following'
  }
  if (isPolling(progress)) state.connection.value = brokenConnection(progress, clock.now())
  const follow = { after: progress.position, signal }
  const silence = { clock, firstMs: FIRST_MESSAGE_MS_MAX, betweenMs: SILENCE_MS_MAX }
  for await (const message of eventsUnlessSilent(client, follow, silence)) take(message, deps, progress)
  throw new StreamBroken('the event stream ended')
}

function take({ position, event }: PositionedEvent, { state, clock }: StreamDeps, progress: Progress): void {
  progress.failures = 0
  if (event.type === 'reset') {
    progress.position = null
    throw new StreamBroken('too much happened meanwhile: reading everything again')
  }
  batch(() => {
    state.connection.value = { state: 'live' }
    state.heardAtMs.value = clock.now()
    apply(event, state)
  })
  if (position !== null) progress.position = position
}

/** Passes over kinds that it does not know: the server may be newer than this page. */
function apply(event: PositionedEvent['event'], { workers, templates }: LiveState): void {
  if (event.type === 'worker.created' || event.type === 'worker.updated') workers.put(event.data)
  else if (event.type === 'worker.deleted') workers.remove(event.id, event.version)
  else if (event.type === 'template.created' || event.type === 'template.updated') templates.put(event.data)
  else if (event.type === 'template.deleted') templates.remove(event.id, event.version)
}

/** Answers the position of the first list: events from there on cover whatever changed while the rest was read. */
async function readAll(client: Client, state: LiveState, signal: AbortSignal): Promise<string> {
  const info = await client.call('info', { signal })
  const workers = await readList(page =>
    client.call('listWorkers', { query: { ...page, include_terminated: true }, signal }),
  )
  const templates = await readList(page => client.call('listTemplates', { query: page, signal }))
  batch(() => {
    state.workers.replaceBy(workers.items)
    state.templates.replaceBy(templates.items)
    state.info.value = info
  })
  return workers.revision
}

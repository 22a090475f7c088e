import { type Clock, WatchCompacted } from '@lcm/runtime'
import type { Event, WatchRequestSchema, WatchResponse, WatchResponseSchema } from '../generated/etcd_pb.ts'
import type { BidiStream } from './connection.ts'
import { EtcdError, etcdErrorFrom } from './errors.ts'
import { type KeyChange, type KeyRange, keyStateOf, rangeOf } from './key-state.ts'

export type WatchStreamEvent =
  /** First event; it promises nothing about delivered changes. */
  | { readonly kind: 'opened'; readonly revision: number; readonly clusterId: bigint }
  /** In order, with all changes of a revision together. */
  | { readonly kind: 'changes'; readonly changes: readonly KeyChange[] }
  /** Everything up to `revision` has been delivered. */
  | { readonly kind: 'progress'; readonly revision: number }
  | { readonly kind: 'alive' }

export interface WatchStreamOptions {
  readonly endpoint: string
  readonly stream: BidiStream<typeof WatchRequestSchema, typeof WatchResponseSchema>
  readonly clock: Clock
  readonly range: KeyRange
  readonly startRevision: number
  readonly signal: AbortSignal
}

interface OpenWatch extends WatchStreamOptions {
  /** Watch that this stream belongs to. */
  watchId: bigint | undefined
  /** Fragments of a response; one may end in the middle of a revision. */
  readonly fragments: Event[]
}

/** Interval of progress requests while no response arrives, and how many may stay unanswered. */
const ASK_EVERY_MS = 1_500
const ASKS_MAX = 3
/** etcd's watch id for responses that belong to no watch. */
const NO_WATCH = -1n
const DELETE = 1

/** One stream from its opening to its end. Throws `WatchCompacted`, an `EtcdError`, or returns when `signal` aborts. */
export async function* watchStream(options: WatchStreamOptions): AsyncGenerator<WatchStreamEvent, void, undefined> {
  const open: OpenWatch = { ...options, watchId: undefined, fragments: [] }
  const { stream, signal } = open
  const abort = () => stream.cancel(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    stream.send({ requestUnion: { case: 'createRequest', value: created(open) } })
    while (!signal.aborted) {
      const event = eventOf(open, await nextAnswer(open))
      if (event !== undefined) yield event
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', abort)
    stream.cancel(new Error('the reader has stopped'))
  }
}

const created = ({ range, startRevision }: WatchStreamOptions) => ({
  ...rangeOf(range),
  startRevision: BigInt(startRevision),
  progressNotify: true,
  fragment: true,
})

/** Silence counts only while we wait: a slow reader is no evidence against the server. */
async function nextAnswer(open: OpenWatch): Promise<WatchResponse> {
  const { stream, clock, endpoint } = open
  let asks = 0
  const ask = () => {
    if (asks === ASKS_MAX) return stream.cancel(new EtcdError('etcd_slow', endpoint, 'its watch stream is silent'))
    asks += 1
    askForProgress(open, asks)
    cancelAsk = clock.after(ASK_EVERY_MS, ask)
  }
  let cancelAsk = clock.after(ASK_EVERY_MS, ask)
  try {
    const answer = await stream.next()
    if (answer === undefined) throw new EtcdError('etcd_unreachable', endpoint, 'it ended the watch stream')
    return answer
  } finally {
    cancelAsk()
  }
}

/**
 * Some releases leave a progress request unanswered until the next change (etcd-io/etcd#17507). A second watch on the
 * same stream is always confirmed, and canceled again.
 */
function askForProgress({ stream, range }: OpenWatch, asks: number): void {
  stream.send({ requestUnion: { case: 'progressRequest', value: {} } })
  if (asks > 1) stream.send({ requestUnion: { case: 'createRequest', value: rangeOf({ ...range, isPrefix: false }) } })
}

function eventOf(open: OpenWatch, answer: WatchResponse): WatchStreamEvent | undefined {
  const isOurs = open.watchId === undefined || answer.watchId === open.watchId
  if (!isOurs) return aliveEvent(open, answer)
  if (answer.canceled) throw endOf(open, answer)
  if (answer.created) return opening(open, answer)
  if (answer.watchId === NO_WATCH) return { kind: 'alive' }
  if (answer.events.length > 0 || open.fragments.length > 0) return delivery(open, answer)
  return { kind: 'progress', revision: Number(answer.header?.revision ?? 0n) }
}

/**
 * A response to a progress request names the newest revision, not the one up to which this stream has delivered
 * (etcd-io/etcd#15220): resuming from it would lose changes. So it only proves that the server is alive.
 */
function aliveEvent(
  { stream }: OpenWatch,
  { created, canceled, watchId }: WatchResponse,
): WatchStreamEvent | undefined {
  if (created && !canceled) stream.send({ requestUnion: { case: 'cancelRequest', value: { watchId } } })
  return created || watchId === NO_WATCH ? { kind: 'alive' } : undefined
}

function opening(open: OpenWatch, { watchId, header }: WatchResponse): WatchStreamEvent {
  open.watchId = watchId
  return { kind: 'opened', revision: Number(header?.revision ?? 0n), clusterId: header?.clusterId ?? 0n }
}

function endOf({ endpoint, startRevision }: OpenWatch, { compactRevision, cancelReason }: WatchResponse): Error {
  if (compactRevision > 0n) return new WatchCompacted(startRevision - 1)
  return etcdErrorFrom(endpoint, { code: 2, details: cancelReason || 'it canceled the watch' })
}

function delivery({ fragments }: OpenWatch, { events, fragment }: WatchResponse): WatchStreamEvent | undefined {
  fragments.push(...events)
  if (fragment) return undefined
  return { kind: 'changes', changes: fragments.splice(0).flatMap(changeOf) }
}

function changeOf({ type, kv }: Event): KeyChange[] {
  if (kv === undefined) return []
  const state = keyStateOf(kv)
  const revision = state.modRevision
  return [type === DELETE ? { type: 'delete', key: state.key, revision } : { type: 'put', state, revision }]
}

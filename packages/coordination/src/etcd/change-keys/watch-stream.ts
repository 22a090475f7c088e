import { type Clock, WatchCompacted } from '@lcm/runtime'
import type { Exchange } from '../client/connection.ts'
import { EtcdError, problemOf } from '../client/problem.ts'
import type { Event, WatchRequestSchema, WatchResponse, WatchResponseSchema } from '../generated/etcd_pb.ts'
import { type KeyChange, type KeyRange, keyStateOf, rangeOf } from './key-state.ts'

export type WatchSight =
  /** The first; it promises nothing about what has been delivered. */
  | { readonly kind: 'opened'; readonly revision: number; readonly clusterId: bigint }
  /** In order, each revision whole. */
  | { readonly kind: 'changes'; readonly changes: readonly KeyChange[] }
  /** Everything up to `revision` has been delivered. */
  | { readonly kind: 'progress'; readonly revision: number }
  | { readonly kind: 'alive' }

export interface WatchStreamOptions {
  readonly endpoint: string
  readonly exchange: Exchange<typeof WatchRequestSchema, typeof WatchResponseSchema>
  readonly clock: Clock
  readonly range: KeyRange
  readonly startRevision: number
  readonly signal: AbortSignal
}

interface Watching extends WatchStreamOptions {
  /** Of the watch that this stream is about. */
  watchId: bigint | undefined
  /** The beginning of an answer that etcd sends in pieces, which may end in the middle of a revision. */
  readonly pieces: Event[]
}

/** While nothing comes we ask for a sign of life this often, and give up after so many unanswered. */
const ASK_EVERY_MS = 1_500
const ASKS_MAX = 3
/** etcd's number for answers that belong to no watch. */
const NO_WATCH = -1n
const DELETE = 1

/** One stream from its opening to its end. Throws `WatchCompacted`, an `EtcdError`, or returns when `signal` aborts. */
export async function* watchStream(options: WatchStreamOptions): AsyncGenerator<WatchSight, void, undefined> {
  const watching: Watching = { ...options, watchId: undefined, pieces: [] }
  const { exchange, signal } = watching
  const abort = () => exchange.cancel(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    exchange.send({ requestUnion: { case: 'createRequest', value: created(watching) } })
    while (!signal.aborted) {
      const sight = sightOf(watching, await nextAnswer(watching))
      if (sight !== undefined) yield sight
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', abort)
    exchange.cancel(new Error('the reader has left'))
  }
}

const created = ({ range, startRevision }: WatchStreamOptions) => ({
  ...rangeOf(range),
  startRevision: BigInt(startRevision),
  progressNotify: true,
  fragment: true,
})

/** Silence counts only while we wait: a reader that takes its time says nothing about the server. */
async function nextAnswer(watching: Watching): Promise<WatchResponse> {
  const { exchange, clock, endpoint } = watching
  let asks = 0
  const ask = () => {
    if (asks === ASKS_MAX) return exchange.cancel(new EtcdError('etcd_slow', endpoint, 'its watch stream fell silent'))
    asks += 1
    askForSign(watching, asks)
    cancelAsk = clock.after(ASK_EVERY_MS, ask)
  }
  let cancelAsk = clock.after(ASK_EVERY_MS, ask)
  try {
    const answer = await exchange.next()
    if (answer === undefined) throw new EtcdError('etcd_unreachable', endpoint, 'it ended the watch stream')
    return answer
  } finally {
    cancelAsk()
  }
}

/**
 * Some releases leave a request for progress unanswered until the next change (etcd-io/etcd#17507). A second watch on
 * the same stream is always confirmed, and taken away again.
 */
function askForSign({ exchange, range }: Watching, asks: number): void {
  exchange.send({ requestUnion: { case: 'progressRequest', value: {} } })
  if (asks > 1)
    exchange.send({ requestUnion: { case: 'createRequest', value: rangeOf({ ...range, isPrefix: false }) } })
}

function sightOf(watching: Watching, answer: WatchResponse): WatchSight | undefined {
  const isOurs = watching.watchId === undefined || answer.watchId === watching.watchId
  if (!isOurs) return signFrom(watching, answer)
  if (answer.canceled) throw endOf(watching, answer)
  if (answer.created) return opening(watching, answer)
  if (answer.watchId === NO_WATCH) return { kind: 'alive' }
  if (answer.events.length > 0 || watching.pieces.length > 0) return delivery(watching, answer)
  return { kind: 'progress', revision: Number(answer.header?.revision ?? 0n) }
}

/**
 * An answer to our request for progress names the newest revision, not the one up to which this stream has delivered
 * (etcd-io/etcd#15220): to resume from it would lose changes. So it is a sign of life and nothing else.
 */
function signFrom({ exchange }: Watching, { created, canceled, watchId }: WatchResponse): WatchSight | undefined {
  if (created && !canceled) exchange.send({ requestUnion: { case: 'cancelRequest', value: { watchId } } })
  return created || watchId === NO_WATCH ? { kind: 'alive' } : undefined
}

function opening(watching: Watching, { watchId, header }: WatchResponse): WatchSight {
  watching.watchId = watchId
  return { kind: 'opened', revision: Number(header?.revision ?? 0n), clusterId: header?.clusterId ?? 0n }
}

function endOf({ endpoint, startRevision }: Watching, { compactRevision, cancelReason }: WatchResponse): Error {
  if (compactRevision > 0n) return new WatchCompacted(startRevision - 1)
  return problemOf(endpoint, { code: 2, details: cancelReason || 'it cancelled the watch' })
}

function delivery({ pieces }: Watching, { events, fragment }: WatchResponse): WatchSight | undefined {
  pieces.push(...events)
  if (fragment) return undefined
  return { kind: 'changes', changes: pieces.splice(0).flatMap(changeOf) }
}

function changeOf({ type, kv }: Event): KeyChange[] {
  if (kv === undefined) return []
  const state = keyStateOf(kv)
  const revision = state.modRevision
  return [type === DELETE ? { type: 'delete', key: state.key, revision } : { type: 'put', state, revision }]
}

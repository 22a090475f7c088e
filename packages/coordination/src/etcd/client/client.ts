import type { MessageInitShape } from '@bufbuild/protobuf'
import { bytesOf, type KeyRange, type KeyState, keyStateOf, rangeOf } from '../change-keys/key-state.ts'
import { type WatchSight, watchStream } from '../change-keys/watch-stream.ts'
import { keepPulse } from '../election/keep-alive.ts'
import { KV, Lease, type TxnRequestSchema, type TxnResponse, Watch } from '../generated/etcd_pb.ts'
import { ask, type Members, type MembersOptions, noteAnswer, noteMiss, openMembers } from './members.ts'
import { EtcdError, isProblem } from './problem.ts'

/** etcd in our words. Calls reject with an `EtcdError`; each takes a bounded time per member. */
export interface EtcdClient {
  get(key: string, timeoutMs?: number): Promise<Read>
  /** Everything under the prefix at one revision, however much it is. */
  list(prefix: string, signal: AbortSignal): Promise<Listing>
  /** Changes a key if it is as expected; else tells how it is. */
  swap(change: Swap, timeoutMs?: number): Promise<Swapped>
  grantLease(ttlMs: number, timeoutMs?: number): Promise<{ readonly id: bigint; readonly ttlMs: number }>
  /** Fine when the lease is gone already. */
  revokeLease(id: bigint, timeoutMs?: number): Promise<void>
  /** Answers the time to live, 0 when the lease is gone. Each call asks another member than the last. */
  keepAlive(id: bigint, options: KeepAliveOptions): Promise<number>
  watch(range: KeyRange, startRevision: number, signal: AbortSignal): AsyncIterable<WatchSight>
  close(): void
}

export interface Read {
  readonly state: KeyState | null
  readonly revision: number
}

export interface Listing {
  readonly states: readonly KeyState[]
  readonly revision: number
  /** Changes when etcd was rebuilt, and then no revision of before means anything. */
  readonly clusterId: bigint
}

export interface Swap {
  readonly key: string
  /** 0 expects that there is no such key. */
  readonly expected: { readonly createRevision: number } | { readonly modRevision: number }
  /** Null deletes the key. */
  readonly value: string | null
  readonly lease?: bigint
}

export interface Swapped {
  readonly isDone: boolean
  readonly revision: number
  /** How the key was found when it was not as expected. */
  readonly current: KeyState | null
}

export interface KeepAliveOptions {
  readonly signal: AbortSignal
  /** A member that takes longer is asked again only when there is no other; its answer still counts. */
  readonly patienceMs: number
}

/** Where another member can be asked it pays to do so soon: what the old leader of etcd was doing is lost with it. */
const TIMEOUT_MS = 2_000
const TIMEOUT_OF_LONE_MEMBER_MS = 5_000
const PAGE_KEYS = 1_000
const PAGE_TIMEOUT_MS = 5_000
/** A list may lose its revision to compaction in the middle; the next try is at a newer one. */
const LIST_TRIES_MAX = 3
const EQUAL = 0
const CREATE_REVISION = 1
const MOD_REVISION = 2

export interface ClientOptions extends MembersOptions {
  /** A key that may be read, to see whether anything may. */
  readonly probeKey: string
}

export function openClient(options: ClientOptions): EtcdClient {
  const members = openMembers(options)
  const stopPulse = keepPulse(members, options.probeKey)
  const limit = members.all.length > 1 ? TIMEOUT_MS : TIMEOUT_OF_LONE_MEMBER_MS
  return {
    get: (key, timeoutMs = limit) => get(members, key, timeoutMs),
    list: (prefix, signal) => list(members, prefix, signal),
    swap: (change, timeoutMs = limit) => swap(members, change, timeoutMs),
    grantLease: (ttlMs, timeoutMs = limit) => grantLease(members, ttlMs, timeoutMs),
    revokeLease: (id, timeoutMs = limit) => revokeLease(members, id, timeoutMs),
    keepAlive: (id, keepAliveOptions) => keepAlive(members, id, keepAliveOptions),
    watch: (range, startRevision, signal) => watch({ members, range, startRevision, signal }),
    close() {
      stopPulse()
      members.close()
    },
  }
}

async function get(members: Members, key: string, timeoutMs: number): Promise<Read> {
  const request = { key: bytesOf(key) }
  const { kvs, header } = await ask(members, { method: KV.method.range, request, asked: 'read', timeoutMs })
  const [found] = kvs
  return { state: found === undefined ? null : keyStateOf(found), revision: Number(header?.revision ?? 0n) }
}

async function list(members: Members, prefix: string, signal: AbortSignal): Promise<Listing> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listPages(members, prefix, signal)
    } catch (error) {
      if (attempt >= LIST_TRIES_MAX || !isProblem(error, 'etcd_compacted')) throw error
    }
  }
}

async function listPages(members: Members, prefix: string, signal: AbortSignal): Promise<Listing> {
  const { key: first, rangeEnd = first } = rangeOf({ key: prefix, isPrefix: true })
  const states: KeyState[] = []
  let key = first
  let revision = 0n
  for (;;) {
    signal.throwIfAborted()
    const request = { key, rangeEnd, limit: BigInt(PAGE_KEYS), revision }
    const question = { method: KV.method.range, request, asked: 'read', timeoutMs: PAGE_TIMEOUT_MS, signal } as const
    const { kvs, header, more } = await ask(members, question)
    for (const kv of kvs) states.push(keyStateOf(kv))
    if (revision === 0n) revision = header?.revision ?? 0n
    const last = kvs.at(-1)
    if (!more || last === undefined) return { states, revision: Number(revision), clusterId: header?.clusterId ?? 0n }
    key = keyAfter(last.key)
  }
}

/** The smallest key that is greater. */
const keyAfter = (key: Uint8Array) => Buffer.concat([key, Buffer.from([0])])

async function swap(members: Members, change: Swap, timeoutMs: number): Promise<Swapped> {
  const key = bytesOf(change.key)
  const request: MessageInitShape<typeof TxnRequestSchema> = {
    compare: [{ result: EQUAL, key, ...comparedTo(change.expected) }],
    success: [{ request: changeTo(change) }],
    failure: [{ request: { case: 'requestRange', value: { key } } }],
  }
  const answer = await ask(members, { method: KV.method.txn, request, asked: 'write', timeoutMs })
  const revision = Number(answer.header?.revision ?? 0n)
  return { isDone: answer.succeeded, revision, current: answer.succeeded ? null : foundIn(answer) }
}

const comparedTo = (expected: Swap['expected']) =>
  'createRevision' in expected
    ? ({ target: CREATE_REVISION, targetUnion: revisionOf('createRevision', expected.createRevision) } as const)
    : ({ target: MOD_REVISION, targetUnion: revisionOf('modRevision', expected.modRevision) } as const)

const revisionOf = <Name extends string>(name: Name, revision: number) => ({ case: name, value: BigInt(revision) })

const changeTo = ({ key, value, lease = 0n }: Swap) =>
  value === null
    ? ({ case: 'requestDeleteRange', value: { key: bytesOf(key) } } as const)
    : ({ case: 'requestPut', value: { key: bytesOf(key), value: bytesOf(value), lease } } as const)

function foundIn({ responses }: TxnResponse): KeyState | null {
  const response = responses[0]?.response
  const found = response?.case === 'responseRange' ? response.value.kvs[0] : undefined
  return found === undefined ? null : keyStateOf(found)
}

async function grantLease(members: Members, ttlMs: number, timeoutMs: number) {
  const request = { ttl: BigInt(Math.ceil(ttlMs / 1000)) }
  const { id, ttl } = await ask(members, { method: Lease.method.leaseGrant, request, asked: 'write', timeoutMs })
  return { id, ttlMs: Number(ttl) * 1000 }
}

async function revokeLease(members: Members, id: bigint, timeoutMs: number): Promise<void> {
  try {
    await ask(members, { method: Lease.method.leaseRevoke, request: { id }, asked: 'read', timeoutMs })
  } catch (error) {
    if (!isProblem(error, 'etcd_lease_not_found')) throw error
  }
}

async function keepAlive(members: Members, id: bigint, { signal, patienceMs }: KeepAliveOptions): Promise<number> {
  const token = await members.token.current()
  const member = members.rotation.next()
  const exchange = member.stream(Lease.method.leaseKeepAlive, token)
  const abort = () => exchange.cancel(signal.reason)
  const slow = () => noteMiss(members, member, new EtcdError('etcd_slow', member.endpoint, 'a keep-alive hangs'))
  const cancelPatience = members.clock.after(patienceMs, slow)
  signal.addEventListener('abort', abort)
  try {
    if (signal.aborted) abort()
    exchange.send({ id })
    const answer = await exchange.next()
    if (answer === undefined) throw new EtcdError('etcd_unreachable', member.endpoint, 'it ended the keep-alive stream')
    noteAnswer(members, member)
    return Number(answer.ttl) * 1000
  } catch (error) {
    if (isProblem(error, 'etcd_lease_not_found')) return 0
    if (isProblem(error, 'etcd_bad_credentials')) members.token.drop(token)
    noteMiss(members, member, error)
    throw error
  } finally {
    cancelPatience()
    signal.removeEventListener('abort', abort)
    exchange.cancel(new Error('the beat is over'))
  }
}

interface WatchQuestion {
  readonly members: Members
  readonly range: KeyRange
  readonly startRevision: number
  readonly signal: AbortSignal
}

async function* watch({ members, range, startRevision, signal }: WatchQuestion): AsyncGenerator<WatchSight, void> {
  const token = await members.token.current()
  const member = members.rotation.next()
  const { clock } = members
  const exchange = member.stream(Watch.method.watch, token)
  try {
    const options = { endpoint: member.endpoint, exchange, clock, range, startRevision, signal }
    for await (const sight of watchStream(options)) {
      if (sight.kind === 'opened') noteAnswer(members, member)
      yield sight
    }
  } catch (error) {
    noteMiss(members, member, error)
    // A watch with a token that has expired is refused as if it were not permitted.
    if (isProblem(error, 'etcd_bad_credentials', 'etcd_permission_denied')) members.token.drop(token)
    throw error
  }
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import { KV, Lease, type TxnRequestSchema, type TxnResponse, Watch } from '../generated/etcd_pb.ts'
import { EtcdError, isEtcdError } from './errors.ts'
import { bytesOf, type KeyRange, type KeyState, keyStateOf, rangeOf } from './key-state.ts'
import { callAnyMember, type Members, type MembersOptions, noteFailure, noteSuccess, openMembers } from './members.ts'
import { pollHealth } from './poll-health.ts'
import { type WatchStreamEvent, watchStream } from './watch-stream.ts'

/** Thin etcd client. Calls reject with an `EtcdError`; each takes a bounded time per member. */
export interface EtcdClient {
  get(key: string, timeoutMs?: number): Promise<KeyRead>
  /** All keys under the prefix at one revision, in as many pages as needed. */
  list(prefix: string, signal: AbortSignal): Promise<KeyList>
  /** Changes the key if it matches `expected`; otherwise returns its current state. */
  compareAndSwap(change: CompareAndSwap, timeoutMs?: number): Promise<SwapResult>
  grantLease(ttlMs: number, timeoutMs?: number): Promise<{ readonly id: bigint; readonly ttlMs: number }>
  /** Succeeds when the lease is already gone. */
  revokeLease(id: bigint, timeoutMs?: number): Promise<void>
  /** Returns the time to live, 0 when the lease is gone. Each call uses the next member. */
  keepAlive(id: bigint, options: KeepAliveOptions): Promise<number>
  watch(range: KeyRange, startRevision: number, signal: AbortSignal): AsyncIterable<WatchStreamEvent>
  close(): void
}

export interface KeyRead {
  readonly state: KeyState | null
  readonly revision: number
}

export interface KeyList {
  readonly states: readonly KeyState[]
  readonly revision: number
  /** Changes when etcd was rebuilt; then all earlier revisions are meaningless. */
  readonly clusterId: bigint
}

export interface CompareAndSwap {
  readonly key: string
  /** 0 expects that the key doesn't exist. */
  readonly expected: { readonly createRevision: number } | { readonly modRevision: number }
  /** Null deletes the key. */
  readonly value: string | null
  readonly lease?: bigint
}

export interface SwapResult {
  readonly isDone: boolean
  readonly revision: number
  /** State of the key when it did not match. */
  readonly current: KeyState | null
}

export interface KeepAliveOptions {
  readonly signal: AbortSignal
  /** A slower member is used again only when there is no other; its response still counts. */
  readonly slowAfterMs: number
}

/** Short when there are other members: requests pending at a failed etcd leader are lost. */
const TIMEOUT_MS = 2_000
const TIMEOUT_OF_LONE_MEMBER_MS = 5_000
const PAGE_KEYS = 1_000
const PAGE_TIMEOUT_MS = 5_000
/** Compaction may remove the revision in the middle of a list; the retry uses a newer one. */
const LIST_TRIES_MAX = 3
const EQUAL = 0
const CREATE_REVISION = 1
const MOD_REVISION = 2

export interface ClientOptions extends MembersOptions {
  /** A key under the readable prefix, for health checks. */
  readonly probeKey: string
}

export function openClient(options: ClientOptions): EtcdClient {
  const members = openMembers(options)
  const stopPolling = pollHealth(members, options.probeKey)
  const limit = members.all.length > 1 ? TIMEOUT_MS : TIMEOUT_OF_LONE_MEMBER_MS
  return {
    get: (key, timeoutMs = limit) => get(members, key, timeoutMs),
    list: (prefix, signal) => list(members, prefix, signal),
    compareAndSwap: (change, timeoutMs = limit) => swap(members, change, timeoutMs),
    grantLease: (ttlMs, timeoutMs = limit) => grantLease(members, ttlMs, timeoutMs),
    revokeLease: (id, timeoutMs = limit) => revokeLease(members, id, timeoutMs),
    keepAlive: (id, keepAliveOptions) => keepAlive(members, id, keepAliveOptions),
    watch: (range, startRevision, signal) => watch({ members, range, startRevision, signal }),
    close() {
      stopPolling()
      members.close()
    },
  }
}

async function get(members: Members, key: string, timeoutMs: number): Promise<KeyRead> {
  const request = { key: bytesOf(key) }
  const { kvs, header } = await callAnyMember(members, { method: KV.method.range, request, kind: 'read', timeoutMs })
  const [found] = kvs
  return { state: found === undefined ? null : keyStateOf(found), revision: Number(header?.revision ?? 0n) }
}

async function list(members: Members, prefix: string, signal: AbortSignal): Promise<KeyList> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listPages(members, prefix, signal)
    } catch (error) {
      if (attempt >= LIST_TRIES_MAX || !isEtcdError(error, 'etcd_compacted')) throw error
    }
  }
}

async function listPages(members: Members, prefix: string, signal: AbortSignal): Promise<KeyList> {
  const { key: first, rangeEnd = first } = rangeOf({ key: prefix, isPrefix: true })
  const states: KeyState[] = []
  let key = first
  let revision = 0n
  for (;;) {
    signal.throwIfAborted()
    const request = { key, rangeEnd, limit: BigInt(PAGE_KEYS), revision }
    const call = { method: KV.method.range, request, kind: 'read', timeoutMs: PAGE_TIMEOUT_MS, signal } as const
    const { kvs, header, more } = await callAnyMember(members, call)
    for (const kv of kvs) states.push(keyStateOf(kv))
    if (revision === 0n) revision = header?.revision ?? 0n
    const last = kvs.at(-1)
    if (!more || last === undefined) return { states, revision: Number(revision), clusterId: header?.clusterId ?? 0n }
    key = keyAfter(last.key)
  }
}

const keyAfter = (key: Uint8Array) => Buffer.concat([key, Buffer.from([0])])

async function swap(members: Members, change: CompareAndSwap, timeoutMs: number): Promise<SwapResult> {
  const key = bytesOf(change.key)
  const request: MessageInitShape<typeof TxnRequestSchema> = {
    compare: [{ result: EQUAL, key, ...comparedTo(change.expected) }],
    success: [{ request: changeTo(change) }],
    failure: [{ request: { case: 'requestRange', value: { key } } }],
  }
  const answer = await callAnyMember(members, { method: KV.method.txn, request, kind: 'write', timeoutMs })
  const revision = Number(answer.header?.revision ?? 0n)
  return { isDone: answer.succeeded, revision, current: answer.succeeded ? null : foundIn(answer) }
}

const comparedTo = (expected: CompareAndSwap['expected']) =>
  'createRevision' in expected
    ? ({ target: CREATE_REVISION, targetUnion: revisionOf('createRevision', expected.createRevision) } as const)
    : ({ target: MOD_REVISION, targetUnion: revisionOf('modRevision', expected.modRevision) } as const)

const revisionOf = <Name extends string>(name: Name, revision: number) => ({ case: name, value: BigInt(revision) })

const changeTo = ({ key, value, lease = 0n }: CompareAndSwap) =>
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
  const { id, ttl } = await callAnyMember(members, {
    method: Lease.method.leaseGrant,
    request,
    kind: 'write',
    timeoutMs,
  })
  return { id, ttlMs: Number(ttl) * 1000 }
}

async function revokeLease(members: Members, id: bigint, timeoutMs: number): Promise<void> {
  try {
    await callAnyMember(members, { method: Lease.method.leaseRevoke, request: { id }, kind: 'read', timeoutMs })
  } catch (error) {
    if (!isEtcdError(error, 'etcd_lease_not_found')) throw error
  }
}

async function keepAlive(members: Members, id: bigint, { signal, slowAfterMs }: KeepAliveOptions): Promise<number> {
  const token = await members.token.current()
  const member = members.rotation.next()
  const stream = member.stream(Lease.method.leaseKeepAlive, token)
  const abort = () => stream.cancel(signal.reason)
  const slow = () =>
    noteFailure(members, member, new EtcdError('etcd_slow', member.endpoint, 'a keep-alive call hangs'))
  const cancelSlowTimer = members.clock.after(slowAfterMs, slow)
  signal.addEventListener('abort', abort)
  try {
    if (signal.aborted) abort()
    stream.send({ id })
    const answer = await stream.next()
    if (answer === undefined) throw new EtcdError('etcd_unreachable', member.endpoint, 'it ended the keep-alive stream')
    noteSuccess(members, member)
    return Number(answer.ttl) * 1000
  } catch (error) {
    if (isEtcdError(error, 'etcd_lease_not_found')) return 0
    if (isEtcdError(error, 'etcd_bad_credentials')) members.token.drop(token)
    noteFailure(members, member, error)
    throw error
  } finally {
    cancelSlowTimer()
    signal.removeEventListener('abort', abort)
    stream.cancel(new Error('the keep-alive is done'))
  }
}

interface WatchCall {
  readonly members: Members
  readonly range: KeyRange
  readonly startRevision: number
  readonly signal: AbortSignal
}

async function* watch({ members, range, startRevision, signal }: WatchCall): AsyncGenerator<WatchStreamEvent, void> {
  const token = await members.token.current()
  const member = members.rotation.next()
  const { clock } = members
  const stream = member.stream(Watch.method.watch, token)
  try {
    const options = { endpoint: member.endpoint, stream, clock, range, startRevision, signal }
    for await (const event of watchStream(options)) {
      if (event.kind === 'opened') noteSuccess(members, member)
      yield event
    }
  } catch (error) {
    noteFailure(members, member, error)
    // A watch with an expired token is rejected with "permission denied".
    if (isEtcdError(error, 'etcd_bad_credentials', 'etcd_permission_denied')) members.token.drop(token)
    throw error
  }
}

import type { Logger, WatchEntry, WatchMessage, WatchSource } from '@lcm/runtime'
import { type ChangeHint, type ChangeKeys, REMOVAL_KEPT_MS, removalHint } from '../../change-keys.ts'
import type { EtcdClient } from '../client/client.ts'
import type { KeyChange, KeyState } from '../client/key-state.ts'
import type { WatchStreamEvent } from '../client/watch-stream.ts'
import { decodeHint, encodeHint, placeholderHint } from './hint-codec.ts'

export interface ChangeKeysDeps {
  readonly logger: Logger
  connect(): Promise<EtcdClient>
}

/** The last write of this process, so that the next write of the same key needs no read first. */
interface Written {
  readonly version: number
  readonly revision: number
}

interface Writer extends ChangeKeysDeps {
  readonly written: Map<string, Written>
}

/** Writes remembered per process; the next write of a forgotten key reads it first. */
const WRITTEN_MAX = 10_000
/** Every lost race means that another writer succeeded. */
const RACES_MAX = 100

export function etcdChangeKeys(deps: ChangeKeysDeps): ChangeKeys {
  const writer: Writer = { ...deps, written: new Map() }
  return {
    publish: (key, hint) => publish(writer, key, hint),
    remove: (key, version) => remove(writer, key, version),
    source: prefix => sourceOf(deps, prefix),
  }
}

/** Starts from the last known revision; a failed comparison returns the current one. */
async function publish(writer: Writer, key: string, hint: ChangeHint): Promise<boolean> {
  const client = await writer.connect()
  const believed = writer.written.get(key)
  let modRevision = believed !== undefined && believed.version < hint.version ? believed.revision : 0
  for (let race = 0; race < RACES_MAX; race += 1) {
    const swapped = await client.compareAndSwap({ key, expected: { modRevision }, value: encodeHint(hint) })
    if (swapped.isDone) {
      remember(writer, key, { version: hint.version, revision: swapped.revision })
      return true
    }
    if (swapped.current !== null && versionOf(swapped.current) >= hint.version) return false
    modRevision = swapped.current?.modRevision ?? 0
  }
  throw new Error(`${key} changed ${RACES_MAX} times while it was being published`)
}

async function remove(writer: Writer, key: string, version: number): Promise<boolean> {
  const client = await writer.connect()
  writer.written.delete(key)
  let { state } = await client.get(key)
  let lease: bigint | undefined
  for (let race = 0; race < RACES_MAX; race += 1) {
    if (state !== null && versionOf(state) >= version) return false
    const last = state === null ? undefined : decodeHint(state.value)
    const value = encodeHint(removalHint(key, version, last))
    // A lease without a key expires by itself.
    lease ??= (await client.grantLease(REMOVAL_KEPT_MS)).id
    const swapped = await client.compareAndSwap({
      key,
      expected: { modRevision: state?.modRevision ?? 0 },
      value,
      lease,
    })
    if (swapped.isDone) return true
    state = swapped.current
  }
  throw new Error(`${key} changed ${RACES_MAX} times while it was being removed`)
}

function remember({ written }: Writer, key: string, what: Written): void {
  written.delete(key)
  written.set(key, what)
  const [oldest] = written.keys()
  if (written.size > WRITTEN_MAX && oldest !== undefined) written.delete(oldest)
}

const isLeaderKey = (key: string): boolean => key.endsWith('/leader')

/** A value that is not a hint counts as older than any. */
const versionOf = ({ value }: KeyState): number => decodeHint(value)?.version ?? Number.NEGATIVE_INFINITY

interface Source extends ChangeKeysDeps {
  readonly prefix: string
  /** Id of the cluster that was listed. */
  clusterId: bigint | undefined
}

function sourceOf(deps: ChangeKeysDeps, prefix: string): WatchSource<ChangeHint> {
  const source: Source = { ...deps, prefix, clusterId: undefined }
  return {
    async list(signal) {
      signal.throwIfAborted()
      const client = await source.connect()
      const { states, revision, clusterId } = await client.list(prefix, signal)
      source.clusterId = clusterId
      return { entries: states.map(state => entryOf(source, state)), revision }
    },
    watch: (afterRevision, signal) => watch(source, afterRevision, signal),
  }
}

const entryOf = (source: Source, state: KeyState): WatchEntry<ChangeHint> => ({
  key: state.key,
  hint: hintIn(source, state),
  revision: state.modRevision,
})

/** Never logs the value. The leader key of an election may lie under the prefix too; it is expected to hold no hint. */
function hintIn({ logger }: Source, { key, value }: KeyState): ChangeHint {
  const hint = decodeHint(value)
  if (hint === undefined && !isLeaderKey(key)) logger.warn({ key }, 'change key holds no hint')
  return hint ?? placeholderHint(key)
}

async function* watch(
  source: Source,
  afterRevision: number,
  signal: AbortSignal,
): AsyncGenerator<WatchMessage<ChangeHint>> {
  if (signal.aborted) return
  const client = await source.connect()
  let delivered = afterRevision
  const range = { key: source.prefix, isPrefix: true }
  for await (const event of client.watch(range, afterRevision + 1, signal)) {
    if (event.kind === 'changes') {
      for (const change of event.changes) {
        // Stop only between revisions: a reader that resumes after a revision assumes that it has seen all of it.
        if (signal.aborted && change.revision > delivered) return
        yield messageOf(source, change)
        delivered = change.revision
      }
      continue
    }
    if (event.kind === 'progress') delivered = Math.max(delivered, event.revision)
    yield {
      type: 'progress',
      revision: event.kind === 'opened' ? await openedAt(source, event, afterRevision) : delivered,
    }
  }
}

const messageOf = (source: Source, change: KeyChange): WatchMessage<ChangeHint> =>
  change.type === 'delete' ? change : { type: 'put', ...entryOf(source, change.state) }

/**
 * Revision where the reader stands, which is the one it asked for. A lower number means that its revision belongs to
 * another history because etcd was rebuilt. A quorum read rules out a member that merely lags behind.
 */
async function openedAt(source: Source, opened: Extract<WatchStreamEvent, { kind: 'opened' }>, afterRevision: number) {
  if (source.clusterId !== undefined && source.clusterId !== opened.clusterId) return 0
  if (opened.revision >= afterRevision) return afterRevision
  const client = await source.connect()
  const { revision } = await client.get(source.prefix)
  return Math.min(afterRevision, revision)
}

import { gzipSync } from 'node:zlib'
import { type Client, isProblem } from '@lcm/client/client'
import type { CmlNode } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { runsNothing } from '@lcm/domain/lab/node-needs'
import { type Reason, reason } from '@lcm/domain/reason'
import { isConsoleInUse } from '@lcm/domain/save/decide-save'
import { SAVE_BYTES_MAX, SAVED_TOPOLOGY_BYTES_MAX, type SaveCause, type SavedNode } from '@lcm/domain/save/save'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Election, type Leadership, type Logger, linkedAbort } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { fencedWrite, SupersededError } from '../../kit/fenced-write.ts'
import { fetchLab, fetchSession } from '../api-calls.ts'
import { type FencedLabs, type FencedLabsParts, fencedLabs } from '../labs/fenced-labs.ts'
import { isIdleState } from '../labs/lab-teardown.ts'

const MINUTE_MS = 60_000
const ERROR_CHARS_MAX = 300
/** Nodes of one lab whose consoles CML reads at once. */
const NODES_AT_ONCE = 4
/** A console that does not change for this long is free. */
const CONSOLE_MS = 5_000
/** Extractions take up to a minute each; then the lab is stored with what it has. */
const EXTRACTION_MS = 8 * MINUTE_MS
/** Time that reading and storing the topology takes. */
const STORING_MS = 15_000

export interface SaveParts extends FencedLabsParts {
  readonly client: Client
  readonly election: Election
  readonly clock: Clock
  readonly logger: Logger
}

export interface SaveRequest {
  readonly session: LabletSession
  readonly worker: Worker
  readonly cause: SaveCause
  readonly epoch: number
  readonly leadership: Leadership
  /** Monotonic time at which the lab is removed; null while the session goes on there. */
  readonly endsAtMs: number | null
}

/**
 * Copies the configurations of the nodes into the lab, reads its topology and stores it. It changes nothing that runs, and
 * whatever ends it leaves the earlier saves as they are.
 */
export async function saveLab(parts: SaveParts, request: SaveRequest, signal: AbortSignal): Promise<void> {
  const { session, cause } = request
  const now = await currentSession(parts, request, signal)
  // Another attempt ended after this one was requested.
  if (cause !== 'end' && now.save.tried_at !== session.save.tried_at) return
  // The clock of the API that stamped the request may be ahead.
  const began_at = latest(toInstant(parts.clock.now()), now.save.requested_at)
  try {
    const content = await readLab(parts, request, signal)
    if (content !== null) await store(parts, request, { ...content, began_at }, signal)
  } catch (error) {
    const refusal = refusalIn(error)
    if (refusal === null || signal.aborted) throw error
    const because = reason('save_failed', { error: refusal.slice(0, ERROR_CHARS_MAX) })
    await recordFailure(parts, request, { began_at, because }, signal)
  }
}

/** Why CML failed or the API refuses the save, which another attempt at once would only repeat; null for another error. */
function refusalIn(error: unknown): string | null {
  if (error instanceof CloudError) return error.words
  return isProblem(error, 'validation_failed', 'save_too_large', 'saves_disabled') ? error.message : null
}

const latest = (a: Instant, b: Instant | null): Instant => (b !== null && b > a ? b : a)

/** The session as it is now; throws SupersededError when it left the lab since the request. */
async function currentSession(
  { client }: SaveParts,
  { session, cause }: SaveRequest,
  signal: AbortSignal,
): Promise<LabletSession> {
  const now = await fetchSession(client, session.id, signal)
  const isIts = now !== null && now.worker_id === session.worker_id && now.lab_record_id === session.lab_record_id
  const isOpen = cause === 'end' ? now?.status === 'STOPPING' : now?.status === 'READY' || now?.status === 'RUNNING'
  if (!isIts || !isOpen) throw new SupersededError()
  return now
}

interface LabContent {
  readonly topology: string
  readonly nodes: readonly SavedNode[]
}

/** Null for a session without a lab, and for a lab that is about to start or stop. */
async function readLab(parts: SaveParts, request: SaveRequest, signal: AbortSignal): Promise<LabContent | null> {
  const { session, worker, leadership } = request
  const record = session.lab_record_id === null ? null : await fetchLab(parts.client, session.lab_record_id, signal)
  if (record?.lab_id == null) return null
  const confirm = async () => void (await currentSession(parts, request, signal))
  const labs = fencedLabs(parts, { worker, signal, leadership, confirm, withoutSlot: work => work() })
  const { lab_id } = record
  const found = (await labs.nodes(lab_id)).filter(({ node_definition }) => !runsNothing(node_definition))
  if (found.length > 0 && found.every(({ state }) => state !== 'BOOTED')) return null
  const nodes = await extract(parts, { ...request, labs, lab_id, nodes: found }, signal)
  const isStopped =
    nodes.every(({ outcome }) => outcome === 'skipped') && isIdleState((await labs.get(lab_id))?.state ?? '')
  if (isStopped) return null
  return { nodes, topology: await labs.download(lab_id) }
}

interface Extraction extends SaveRequest {
  readonly labs: FencedLabs
  readonly lab_id: string
  readonly nodes: readonly CmlNode[]
}

async function extract(parts: SaveParts, extraction: Extraction, signal: AbortSignal): Promise<SavedNode[]> {
  const { nodes, endsAtMs } = extraction
  const timeMs = endsAtMs === null ? EXTRACTION_MS : endsAtMs - STORING_MS - parts.clock.monotonic()
  const time = linkedAbort(signal)
  const cancel = parts.clock.after(Math.max(0, timeMs), () => time.abort())
  try {
    const shown = await consolesBefore(parts, extraction, time.signal)
    const waiting = rotated(nodes, Math.floor(parts.clock.now() / MINUTE_MS))
    const saved = new Map<CmlNode, SavedNode>()
    const next = async (): Promise<void> => {
      for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
        const because = await extractNode(extraction, node, { before: shown.get(node) ?? null, until: time.signal })
        if (signal.aborted) return
        const outcome = because === null ? 'saved' : 'skipped'
        saved.set(node, { label: node.label, outcome, reason: because })
      }
    }
    await Promise.all(Array.from({ length: NODES_AT_ONCE }, next))
    signal.throwIfAborted()
    return nodes.flatMap(node => saved.get(node) ?? [])
  } finally {
    cancel()
    // After a failure the other extractions must not go on beside the next attempt.
    time.abort()
    time.unlink()
  }
}

/** Begins with another node each time, so that all nodes of a large lab are saved in the end. */
const rotated = (nodes: readonly CmlNode[], by: number): CmlNode[] => {
  const first = nodes.length === 0 ? 0 : by % nodes.length
  return [...nodes.slice(first), ...nodes.slice(0, first)]
}

/** What the consoles show first. No learner works on them any more when the lab is removed next. */
async function consolesBefore(
  { clock }: SaveParts,
  { labs, lab_id, endsAtMs, nodes }: Extraction,
  signal: AbortSignal,
): Promise<ReadonlyMap<CmlNode, string | null>> {
  const shown = new Map<CmlNode, string | null>()
  if (endsAtMs !== null) return shown
  for (const node of nodes)
    if (node.state === 'BOOTED') shown.set(node, await consoleOf(labs, { lab_id, node_id: node.node_id }))
  await clock.sleep(CONSOLE_MS, signal)
  return shown
}

/** Null for a node without a console, whose extraction disturbs no learner. */
const consoleOf = (labs: FencedLabs, node: { lab_id: string; node_id: string }): Promise<string | null> =>
  labs.consoleLog(node).catch((error: unknown) => {
    if (error instanceof CloudError && error.errorClass === 'invalid') return null
    throw error
  })

/** Why the configuration of a node was not extracted; null if it was. */
async function extractNode(
  { labs, lab_id }: Extraction,
  { node_id, state }: CmlNode,
  { before, until }: { before: string | null; until: AbortSignal },
): Promise<Reason | null> {
  if (state !== 'BOOTED') return reason('node_not_booted', { state })
  if (until.aborted) return reason('save_out_of_time')
  const node = { lab_id, node_id }
  try {
    const after = before === null ? null : await consoleOf(labs, node)
    if (before !== null && after !== null && isConsoleInUse(before, after)) return reason('console_in_use')
    await labs.extractConfiguration(node, until)
    return null
  } catch (error) {
    if (until.aborted) return reason('save_out_of_time')
    if (!(error instanceof CloudError)) throw error
    return reason('extraction_failed', { error: error.words.slice(0, ERROR_CHARS_MAX) })
  }
}

async function store(
  parts: SaveParts,
  request: SaveRequest,
  { topology, nodes, began_at }: LabContent & { began_at: string },
  signal: AbortSignal,
): Promise<void> {
  const { session, cause, epoch } = request
  const packed = Buffer.byteLength(topology) > SAVED_TOPOLOGY_BYTES_MAX ? null : gzipSync(topology)
  if (packed === null || packed.length > SAVE_BYTES_MAX) {
    const limit_bytes = packed === null ? SAVED_TOPOLOGY_BYTES_MAX : SAVE_BYTES_MAX
    const because = reason('save_too_large', { size_bytes: packed?.length ?? null, limit_bytes })
    return recordFailure(parts, request, { began_at, because }, signal)
  }
  await currentSession(parts, request, signal)
  const body = { cause, began_at, topology: packed.toString('base64'), nodes: [...nodes] }
  const call = { params: { id: session.id }, body, epoch, signal }
  await fencedWrite(parts.election, () => parts.client.call('storeSave', call))
}

/** An attempt that failed counts: the next one follows after the interval, or on request. */
async function recordFailure(
  parts: SaveParts,
  request: SaveRequest,
  { began_at, because }: { began_at: string; because: Reason },
  signal: AbortSignal,
): Promise<void> {
  const { id, version, save } = await currentSession(parts, request, signal)
  const isServed = save.requested_at !== null && save.requested_at <= began_at
  const served = isServed ? { requested_at: null, requested_by: null } : {}
  const changes = { save: { ...save, ...served, tried_at: toInstant(parts.clock.now()), outcome: because } }
  const body = { changes, decision: { action: 'save', because } }
  const call = { params: { id }, ifMatch: version, epoch: request.epoch, signal, body }
  await fencedWrite(parts.election, () => parts.client.call('reportSession', call))
}

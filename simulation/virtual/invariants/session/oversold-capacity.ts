import { toMs } from '@lcm/domain/instant'
import type { LabNeeds } from '@lcm/domain/lab/topology'
import { isOver, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { MINUTE_MS } from '../../world/durations.ts'
import type { SettingsHistory } from '../settings-history.ts'

/** Nodes that run without a license, and with one. */
const FREE_NODES = 5
const LICENSED_NODES = 20
/** A decision may have been made on workers as they were so long before. */
const DECIDED_MS = MINUTE_MS
const HAIR = 1e-6
const RESOURCES = ['cpu_cores', 'memory_gb', 'storage_gb', 'node_count'] as const

export interface OversoldCapacityParts {
  readonly sessions: ReadonlyMap<string, LabletSession>
  readonly workers: ReadonlyMap<string, Worker>
  /** What may be bought. */
  readonly templates: readonly WorkerTemplateSpec[]
  readonly settings: Pick<SettingsHistory, 'valuesAt'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * A promise that was just given leaves no moment with more promises than all machines could hold that there are or that may be
 * bought. The promise covers the whole timeslot.
 */
export function oversoldCapacity(
  session: LabletSession,
  before: LabletSession | undefined,
  parts: OversoldCapacityParts,
): string[] {
  const { id, admission, timeslot } = session
  if (admission.kind !== 'admitted' || isOver(session)) return []
  const [from, until] = [admission.span?.from ?? '', admission.span?.until ?? '']
  if (from > later(timeslot.start, session.created_at) || until < timeslot.end)
    return [
      `${id} is promised capacity from ${from} until ${until}, and lasts from ${timeslot.start} until ${timeslot.end}`,
    ]
  // Machines that are lost later take promises with them, so only a new promise is judged.
  if (before !== undefined && before.timeslot.end >= timeslot.end) return []
  const machines = machinesSince(before === undefined ? toMs(session.created_at) : parts.clock.now(), parts)
  const others = [...parts.sessions.values()].filter(each => each.id !== id && isPromised(each, parts))
  const all = [session, ...others]
  return startsWithin(session, all).flatMap(atMs => {
    const held = all.filter(each => holdsAt(each, atMs))
    const excess = excessOf(held, machines)
    return excess === null ? [] : [`${id} is promised capacity at ${new Date(atMs).toISOString()}, when ${excess}`]
  })
}

const later = (a: string, b: string): string => (a > b ? a : b)

/** A session on a machine that is being removed has no capacity any more. */
function isPromised(session: LabletSession, { workers }: OversoldCapacityParts): boolean {
  if (session.admission.kind !== 'admitted' || isOver(session)) return false
  const worker = session.worker_id === null ? undefined : workers.get(session.worker_id)
  return worker === undefined || (worker.status !== 'TERMINATED' && worker.status !== 'TERMINATING')
}

const holdsAt = ({ admission, timeslot }: LabletSession, atMs: number): boolean =>
  Math.min(toMs(timeslot.start), toMs(admission.span?.from ?? timeslot.start)) <= atMs &&
  atMs < Math.max(toMs(timeslot.end), toMs(admission.span?.until ?? timeslot.end))

/** Use grows only when another session begins. */
function startsWithin(session: LabletSession, all: readonly LabletSession[]): number[] {
  const starts = all.map(({ admission, timeslot }) => toMs(admission.span?.from ?? timeslot.start))
  return [...new Set(starts)].filter(atMs => holdsAt(session, atMs))
}

/** The most that each machine may have held since the decision. */
function machinesSince(decidedMs: number, { workers, templates, settings, clock }: OversoldCapacityParts): LabNeeds[] {
  const sinceMs = decidedMs - DECIDED_MS
  const limits = [sinceMs, decidedMs, clock.now()].flatMap(ms => settings.valuesAt('max_workers_per_region', ms))
  const workersMax = Math.max(...limits)
  const isGone = ({ status, entered_status_at }: Worker) =>
    (status === 'TERMINATED' || status === 'TERMINATING') && toMs(entered_status_at) < sinceMs
  const present = [...workers.values()].filter(worker => !isGone(worker))
  const offers = templates.map(({ capacity, license_product }) => limitsOf(capacity, license_product))
  const best: LabNeeds = Object.fromEntries(
    RESOURCES.map(name => [name, Math.max(...offers.map(each => each[name]))]),
  ) as LabNeeds
  const bought = Array.from({ length: Math.max(0, workersMax - present.length) }, () => best)
  return [...present.map(({ capacity, license }) => limitsOf(capacity.declared, license.product)), ...bought]
}

function limitsOf(declared: Worker['capacity']['declared'], product: string | null): LabNeeds {
  if (declared === null) return { cpu_cores: 0, memory_gb: 0, storage_gb: 0, node_count: 0 }
  const { cpu_cores, memory_gb, storage_gb, max_nodes } = declared
  return {
    ...{ cpu_cores, memory_gb, storage_gb: storage_gb ?? Number.POSITIVE_INFINITY },
    node_count: Math.min(max_nodes, product === null ? FREE_NODES : LICENSED_NODES),
  }
}

/** Their sum, and those of which no two fit on one machine. */
function excessOf(held: readonly LabletSession[], machines: readonly LabNeeds[]): string | null {
  for (const name of RESOURCES) {
    const limit = machines.reduce((sum, each) => sum + each[name], 0)
    const needed = held.reduce((sum, { needs }) => sum + needs[name], 0)
    if (needed > limit + HAIR) return `${held.length} sessions need ${needed} of ${limit} ${name}`
    const largest = Math.max(0, ...machines.map(each => each[name]))
    const alone = held.filter(({ needs }) => needs[name] > largest / 2 + HAIR).length
    if (alone > machines.length) return `${alone} sessions need a machine each of ${machines.length}, by ${name}`
  }
  return null
}

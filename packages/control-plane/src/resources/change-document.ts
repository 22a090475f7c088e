import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import type { DecisionNote, ScalingOutcome } from '@lcm/domain/decision'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import type { CostInterval } from '@lcm/domain/worker/cost'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Document, NewEntry } from '@lcm/store/store'

/** Streams of the journal. Each has its own retention. */
export const STREAMS = {
  audit: 'audit',
  transition: 'transition',
  decision: 'decision',
  scaling: 'scaling',
  cost: 'cost',
} as const

/** Audit entry: actor, action and the fields that differ. */
export function auditEntry(
  actor: Actor,
  action: string,
  at: Instant,
  more: { before?: object; after?: object; reason?: string | undefined } = {},
): NewEntry {
  const { before = {}, after = {}, reason = '' } = more
  const body = {
    actor: { id: actor.id, name: actor.name, role: actor.role },
    action,
    ...difference(before, after),
    reason,
  }
  return { stream: STREAMS.audit, at, body }
}

function difference(before: object, after: object): { before: object; after: object } {
  const was = new Map<string, unknown>(Object.entries(before))
  const is = new Map<string, unknown>(Object.entries(after))
  const names = [...new Set([...was.keys(), ...is.keys()])]
  const changed = names.filter(name => JSON.stringify(was.get(name)) !== JSON.stringify(is.get(name)))
  const pick = (from: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(changed.flatMap(name => (from.has(name) ? [[name, from.get(name)]] : [])))
  return { before: pick(was), after: pick(is) }
}

/** A status transition of any resource. */
interface Move {
  readonly from: string | null
  readonly to: string
  readonly at: Instant
  readonly because: Reason
}

export const transitionEntry = (change: Move, by: string): NewEntry => ({
  stream: STREAMS.transition,
  at: change.at,
  body: { from: change.from, to: change.to, because: change.because, by },
})

export const decisionEntry = (note: DecisionNote, by: { service: string; epoch: number }, at: Instant): NewEntry => ({
  stream: STREAMS.decision,
  at,
  body: { ...by, ...note },
})

export const scalingEntry = (outcome: ScalingOutcome, at: Instant, body: object): NewEntry => ({
  stream: STREAMS.scaling,
  at,
  body: { outcome, ...body },
})

export const costEntry = (interval: CostInterval): NewEntry => ({
  stream: STREAMS.cost,
  at: interval.to,
  body: interval,
})

/** Each lost race means that another writer won, so this many in a row is a defect. */
const RACES_MAX = 100

interface Resource extends Document {
  readonly updated_at: string
}

interface Target<T extends Document> {
  readonly collection: Collection<T>
  readonly id: string
  readonly noun: string
}

/** New document and its journal entries, for one commit. */
export interface DocumentChange<T> {
  readonly document: T
  readonly entries: readonly NewEntry[]
}

/**
 * Changes one document by compare-and-set. `change` gets the newest version and throws a problem to refuse; null writes
 * nothing. A caller that named a version never overwrites another. `now` is later than any earlier change of the document,
 * even when the clock of another process was ahead.
 */
export function changeDocument<T extends Resource>(
  target: Target<T>,
  clock: Clock,
  ifMatch: number | null,
  change: (current: T, now: Instant) => DocumentChange<T> | null,
): Promise<T> {
  return serialized(target, () => changed(target, clock, ifMatch, change))
}

/** Writers of one document in one process wait for each other; only writers of other processes can lose a race. */
const queues = new WeakMap<object, Map<string, Promise<unknown>>>()

async function serialized<T>(
  { collection, id }: { collection: object; id: string },
  work: () => Promise<T>,
): Promise<T> {
  const byId = queues.get(collection) ?? new Map<string, Promise<unknown>>()
  queues.set(collection, byId)
  const mine = (byId.get(id) ?? Promise.resolve()).then(work, work)
  byId.set(id, mine)
  try {
    return await mine
  } finally {
    if (byId.get(id) === mine) byId.delete(id)
  }
}

async function changed<T extends Resource>(
  target: Target<T>,
  clock: Clock,
  ifMatch: number | null,
  change: (current: T, now: Instant) => DocumentChange<T> | null,
): Promise<T> {
  for (let race = 0; race < RACES_MAX; race++) {
    const current = await target.collection.get(target.id)
    if (current === null) throw new ProblemError('not_found', `there is no ${target.noun} ${target.id}`)
    refuseStale(current, ifMatch)
    const now = toInstant(Math.max(clock.now(), toMs(current.updated_at) + 1))
    const wanted = change(current, now)
    if (wanted === null) return current
    const next = { ...wanted.document, version: current.version + 1, updated_at: now }
    const result = await target.collection.replace(next, wanted.entries)
    if (result.ok) return next
    if (result.reason === 'taken')
      throw new ProblemError('already_exists', `another ${target.noun} has that ${result.field}`)
  }
  throw new ProblemError('store_unavailable', `${target.noun} ${target.id} is written too often; try again`)
}

export function refuseStale(current: Document, ifMatch: number | null): void {
  if (ifMatch !== null && ifMatch !== current.version) {
    throw new ProblemError(
      'version_mismatch',
      `it is at version ${current.version} by now, not ${ifMatch}: read it again`,
    )
  }
}

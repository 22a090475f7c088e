import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { type Health, healthNote } from '@lcm/domain/health'
import type { Instant } from '@lcm/domain/instant'
import type { DecisionNote, ScalingOutcome } from '@lcm/domain/journal-records'
import type { Reason } from '@lcm/domain/reason'
import type { CostInterval } from '@lcm/domain/worker/cost'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { SYSTEM_ACTOR } from '../../system-actor.ts'

/** Streams of the journal. Each has its own retention. */
export const STREAMS = {
  audit: 'audit',
  transition: 'transition',
  decision: 'decision',
  scaling: 'scaling',
  cost: 'cost',
  /** The owners of removed resources, so that they are sent the removal. */
  removal: 'removal',
} as const

/** Audit entry: actor, action and the fields that differ. */
export function auditEntry(
  actor: Pick<Actor, 'id' | 'name'> & { readonly role: string },
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

/** A change of health, once per change; none for a resource that is over. */
export function healthEntries(
  change: { readonly before: Health; readonly after: Health; readonly status: string; readonly isOver: boolean },
  at: Instant,
): NewEntry[] {
  const note = change.isOver ? null : healthNote(change.before, change.after, { status: change.status })
  return note === null ? [] : [decisionEntry(note, { service: SYSTEM_ACTOR.name, epoch: 0 }, at)]
}

export const scalingEntry = (outcome: ScalingOutcome, at: Instant, body: object): NewEntry => ({
  stream: STREAMS.scaling,
  at,
  body: { outcome, ...body },
})

export const removalEntry = (owner: string, at: Instant): NewEntry => ({
  stream: STREAMS.removal,
  at,
  body: { owner },
})

export const costEntry = (interval: CostInterval): NewEntry => ({
  stream: STREAMS.cost,
  at: interval.to,
  body: interval,
})

/** Decisions without a write. Their ids come from the controller, so that a repeated request records them once. */
export async function recordDecisions(
  api: Api,
  { body, actor }: Request<object, unknown, BodyOf<'recordDecisions'>>,
): Promise<null> {
  const service = actor.service ?? ''
  await api.store.journal.append(
    body.decisions.map(({ id, at, resource, ...note }) => ({
      id: `${service}:${id}`,
      stream: STREAMS.decision,
      subject: resource,
      at,
      body: { service, epoch: body.epoch, ...note },
    })),
  )
  return null
}

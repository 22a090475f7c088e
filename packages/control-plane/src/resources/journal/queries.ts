import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { Instant } from '@lcm/domain/instant'
import { AuditEntry, DecisionRecord, ScalingOutcome } from '@lcm/domain/journal-records'
import { Reason, textReason } from '@lcm/domain/reason'
import { redactReason } from '@lcm/domain/redact-reason'
import { StateChange } from '@lcm/domain/worker/worker'
import type { JournalEntry } from '@lcm/store/store'
import { z } from 'zod'
import type { Api, Request } from '../../api-context.ts'
import { narrowDecision, sessionDecisionFor } from '../../narrow-view.ts'
import { redactSessionIds } from '../../redact-session-ids.ts'
import { ownershipOf, seesAll } from '../../visibility.ts'
import { getSession } from '../session/queries.ts'
import { findWorker } from '../worker/queries.ts'
import { STREAMS } from './entries.ts'

const StoredReason = z.union([Reason, z.string().transform(textReason)])

/** The reason in a journal row. Older releases stored a text. */
export const storedReason = (body: object): Reason => StoredReason.parse('because' in body ? body.because : '')

/** The outcome in a journal row. 0.1.0 wrote the reason there again when nothing followed from a decision. */
const storedOutcome = (body: { readonly because?: unknown; readonly outcome?: unknown }): unknown =>
  typeof body.because === 'string' && body.because === body.outcome ? '' : body.outcome

/** The names of facts in a journal row. 0.1.0 wrote one of them with a British c. */
const storedFacts = (body: object): object =>
  'seen' in body
    ? Object.fromEntries(
        Object.entries(Object(body.seen)).map(([name, value]) => [name.replace(/licen[c]e/, 'license'), value]),
      )
    : {}

interface Paged {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** One page of entries, newest first. The cursor is the last entry, so it stays valid whatever follows. */
async function journalPage<T>(
  api: Api,
  which: { streams: readonly string[]; subject?: string | undefined },
  page: Paged,
  read: (entry: JournalEntry) => T,
): Promise<{ items: T[]; next_cursor: string | null; revision: string }> {
  const revision = await api.feed.position()
  const entries = await api.store.journal.query({
    streams: which.streams,
    ...(which.subject === undefined ? {} : { subject: which.subject }),
    ...(page.from === undefined ? {} : { from: page.from }),
    ...(page.to === undefined ? {} : { to: page.to }),
    ...(page.cursor === undefined ? {} : { after: parseCursor(page.cursor) }),
    limit: page.limit + 1,
  })
  const shown = entries.slice(0, page.limit)
  const last = shown.at(-1)
  const next_cursor = entries.length > page.limit && last ? `${last.at}~${last.id}` : null
  return { items: shown.map(read), next_cursor, revision }
}

function parseCursor(cursor: string): { at: string; id: string } {
  const cut = cursor.indexOf('~')
  if (Instant.safeParse(cursor.slice(0, Math.max(0, cut))).success)
    return { at: cursor.slice(0, cut), id: cursor.slice(cut + 1) }
  throw new ProblemError('validation_failed', 'query.cursor: not one of ours', [
    { path: 'query.cursor', message: 'not one of ours' },
  ])
}

const History = StateChange.extend({ id: AuditEntry.shape.id, by: AuditEntry.shape.reason })

export async function workerHistory(
  api: Api,
  { params: { id }, query, actor }: Request<{ id: string }, QueryOf<'getWorkerHistory'>, unknown>,
): Promise<AnswerOf<'getWorkerHistory'>> {
  const which = { streams: [STREAMS.transition], subject: `worker:${id}` }
  const reasonOf = ({ body }: JournalEntry) => (seesAll(actor) ? storedReason(body) : redactReason(storedReason(body)))
  const read = (entry: JournalEntry) =>
    History.parse({ ...entry.body, because: reasonOf(entry), id: entry.id, at: entry.at })
  return refuseUnknownWorker(api, id, await redactedFor(api, actor, journalPage(api, which, query, read)))
}

export async function workerDecisions(
  api: Api,
  { params: { id }, query, actor }: Request<{ id: string }, QueryOf<'getWorkerDecisions'>, unknown>,
): Promise<AnswerOf<'getWorkerDecisions'>> {
  const which = { streams: [STREAMS.decision], subject: `worker:${id}` }
  const read = (entry: JournalEntry) => (seesAll(actor) ? decisionOf(entry) : narrowDecision(decisionOf(entry)))
  return refuseUnknownWorker(api, id, await redactedFor(api, actor, journalPage(api, which, query, read)))
}

/** Only for actors that may see the session. */
export async function sessionDecisions(
  api: Api,
  { params, query, actor }: Request<{ id: string }, QueryOf<'getSessionDecisions'>, unknown>,
): Promise<AnswerOf<'getSessionDecisions'>> {
  const { id } = await getSession(api, params.id, actor)
  const which = { streams: [STREAMS.decision], subject: `session:${id}` }
  const read = (entry: JournalEntry) => sessionDecisionFor(actor, decisionOf(entry))
  return redactedFor(api, actor, journalPage(api, which, query, read))
}

/** Redacts the ids of other owners' sessions. */
async function redactedFor<T extends object>(
  api: Api,
  actor: Actor,
  page: ReturnType<typeof journalPage<T>>,
): ReturnType<typeof journalPage<T>> {
  const own = await ownershipOf(api, actor)
  const { items, ...rest } = await page
  return { ...rest, items: items.map(item => redactSessionIds(item, own)) }
}

/** History outlives the record of a worker; a worker that never existed is not found. */
async function refuseUnknownWorker<P extends { items: readonly unknown[] }>(api: Api, id: string, page: P): Promise<P> {
  if (page.items.length === 0) await findWorker(api, id)
  return page
}

export const decisionOf = (entry: JournalEntry): DecisionRecord =>
  DecisionRecord.parse({
    ...entry.body,
    because: storedReason(entry.body),
    outcome: storedOutcome(entry.body),
    seen: storedFacts(entry.body),
    id: entry.id,
    at: entry.at,
    resource: entry.subject,
  })

export function listAudit(api: Api, query: QueryOf<'listAudit'>): Promise<AnswerOf<'listAudit'>> {
  const streams = query.scaling ? [STREAMS.audit, STREAMS.scaling] : [STREAMS.audit]
  const read = (entry: JournalEntry) => (entry.stream === STREAMS.scaling ? scalingOf(entry) : auditOf(entry))
  return journalPage(api, { streams, subject: query.resource }, query, read)
}

const auditOf = (entry: JournalEntry): AuditEntry =>
  AuditEntry.parse({ ...entry.body, id: entry.id, at: entry.at, resource: entry.subject })

const ScalingBody = z.looseObject({ outcome: ScalingOutcome })

/** A scaling entry as an audit entry: the policy is the actor, the outcome is the action. */
function scalingOf(entry: JournalEntry): AuditEntry {
  const { outcome, because: _, ...after } = ScalingBody.parse(entry.body)
  const actor = { id: 'policy:scaling', name: 'scaling', role: 'policy' }
  return {
    id: entry.id,
    at: entry.at,
    actor,
    action: outcome,
    resource: entry.subject,
    before: {},
    after,
    reason: storedReason(entry.body).message,
  }
}

import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { AuditEntry, DecisionRecord } from '@lcm/domain/decision'
import { Instant } from '@lcm/domain/instant'
import { StateChange } from '@lcm/domain/worker/worker'
import type { JournalEntry } from '@lcm/store/store'
import type { Api, Request } from '../api.ts'
import { STREAMS } from '../commands/entries.ts'
import { getSession } from './sessions.ts'
import { findWorker } from './workers.ts'

interface Paged {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** One page of what happened, newest first. The cursor is the last entry, so it stays good whatever happens next. */
async function journalPage<T>(
  api: Api,
  which: { stream: string; subject?: string | undefined },
  page: Paged,
  read: (entry: JournalEntry) => T,
): Promise<{ items: T[]; next_cursor: string | null; revision: string }> {
  const revision = await api.feed.position()
  const entries = await api.store.journal.query({
    streams: [which.stream],
    ...(which.subject === undefined ? {} : { subject: which.subject }),
    ...(page.from === undefined ? {} : { from: page.from }),
    ...(page.to === undefined ? {} : { to: page.to }),
    ...(page.cursor === undefined ? {} : { after: placeOf(page.cursor) }),
    limit: page.limit + 1,
  })
  const shown = entries.slice(0, page.limit)
  const last = shown.at(-1)
  const next_cursor = entries.length > page.limit && last ? `${last.at}~${last.id}` : null
  return { items: shown.map(read), next_cursor, revision }
}

function placeOf(cursor: string): { at: string; id: string } {
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
  id: string,
  query: QueryOf<'getWorkerHistory'>,
): Promise<AnswerOf<'getWorkerHistory'>> {
  const which = { stream: STREAMS.transition, subject: `worker:${id}` }
  const read = (entry: JournalEntry) => History.parse({ ...entry.body, id: entry.id, at: entry.at })
  return known(api, id, await journalPage(api, which, query, read))
}

export async function workerDecisions(
  api: Api,
  id: string,
  query: QueryOf<'getWorkerDecisions'>,
): Promise<AnswerOf<'getWorkerDecisions'>> {
  return known(
    api,
    id,
    await journalPage(api, { stream: STREAMS.decision, subject: `worker:${id}` }, query, decisionOf),
  )
}

/** Only to those who may see the session. */
export async function sessionDecisions(
  api: Api,
  { params, query, actor }: Request<{ id: string }, QueryOf<'getSessionDecisions'>, unknown>,
): Promise<AnswerOf<'getSessionDecisions'>> {
  const { id } = await getSession(api, params.id, actor)
  return journalPage(api, { stream: STREAMS.decision, subject: `session:${id}` }, query, decisionOf)
}

/** What happened to a worker is told also when its record is gone. Of one that never was nothing is known. */
async function known<P extends { items: readonly unknown[] }>(api: Api, id: string, page: P): Promise<P> {
  if (page.items.length === 0) await findWorker(api, id)
  return page
}

export const decisionOf = (entry: JournalEntry): DecisionRecord =>
  DecisionRecord.parse({ ...entry.body, id: entry.id, at: entry.at, resource: entry.subject })

export const listAudit = (api: Api, query: QueryOf<'listAudit'>): Promise<AnswerOf<'listAudit'>> =>
  journalPage(api, { stream: STREAMS.audit, subject: query.resource }, query, entry =>
    AuditEntry.parse({ ...entry.body, id: entry.id, at: entry.at, resource: entry.subject }),
  )

import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { Query } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { readsTopologies } from '../../narrow-view.ts'
import { type Ownership, ownershipOf, redactLab } from '../../visibility.ts'
import { listAll, listPage } from '../list-documents.ts'
import { labCountSeries } from '../worker/worker-view.ts'

export async function findLab(api: Api, id: string): Promise<LabRecord> {
  const lab = await api.labs.get(id)
  if (lab === null) throw unknown(id)
  return lab
}

const unknown = (id: string) => new ProblemError('not_found', `there is no lab ${id}`)

/** Not found for a lab of another owner's session, so that its existence is not revealed. */
export async function getLab(api: Api, id: string, actor: Actor): Promise<LabRecord> {
  const lab = redactLab(await findLab(api, id), await ownershipOf(api, actor))
  if (lab === null) throw unknown(id)
  return lab
}

export async function listLabs(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listLabs'>, unknown>,
): Promise<AnswerOf<'listLabs'>> {
  const { worker_id, session_id, status, include_deleted } = query
  const given = Object.entries({ worker_id, session_id, status }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  const isHidden = !include_deleted && status === undefined
  const filter = {
    where: Object.fromEntries(given),
    ...(isHidden ? { whereNot: { status: 'DELETED' } } : {}),
  }
  const own = await ownershipOf(api, actor)
  return own === null ? listPage(api, api.labs, query, filter) : pageFor(api, own, query, filter)
}

/** Pages stay full while there is more, so that gaps don't reveal the labs of others. */
async function pageFor(
  api: Api,
  own: Ownership,
  query: QueryOf<'listLabs'>,
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<AnswerOf<'listLabs'>> {
  const { limit } = query
  let { items: read, next_cursor, revision } = await listPage(api, api.labs, query, filter)
  const seen = read.flatMap(lab => redactLab(lab, own) ?? [])
  while (next_cursor !== null && seen.length <= limit) {
    ;({ items: read, next_cursor } = await listPage(api, api.labs, { limit, cursor: next_cursor }, filter))
    seen.push(...read.flatMap(lab => redactLab(lab, own) ?? []))
  }
  const items = seen.slice(0, limit)
  return { items, next_cursor: seen.length > limit ? (items.at(-1)?.id ?? null) : null, revision }
}

/** The topology of a discovered lab is unknown. A user reads those of its own sessions. */
export async function labTopology(api: Api, id: string, actor: Actor): Promise<AnswerOf<'getLabTopology'>> {
  const { definition_id, title, session_id } = await getLab(api, id, actor)
  if (session_id === null && !readsTopologies(actor))
    throw new ProblemError(
      'not_found',
      `${title} is not the lab of one of your sessions, so you can't read its topology`,
    )
  const definition = definition_id === null ? null : await api.definitions.get(definition_id)
  if (definition === null || definition.topology === null)
    throw new ProblemError('not_found', `the topology of ${title} is unknown`)
  return { topology: definition.topology }
}

/** Records how many labs are on a worker now. */
export async function countLabs(api: Api, workerId: string): Promise<void> {
  const labs = await listAll(api.labs, { where: { worker_id: workerId, is_gone: 'no' } })
  const sample = { series: labCountSeries(workerId), at: toInstant(api.clock.now()), body: { count: labs.length } }
  await api.store.series.append([sample])
}

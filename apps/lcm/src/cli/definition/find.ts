import { type Client, unlessMissing } from '@lcm/client/client'
import { type PageRequest, pagesOf } from '@lcm/client/list-pages'
import { DefinitionName, type LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { isGone, type LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { compareVersions } from '@lcm/domain/session/placement'
import { notThere, onlyOne } from '../find.ts'
import type { DefinitionSummary } from './definition-view.ts'

/** Finds a session by id; sessions have no names. */
export async function findSession(client: Client, id: string, signal: AbortSignal): Promise<LabletSession> {
  const session = await unlessMissing(client.call('getSession', { params: { id }, signal }))
  if (session === null) throw notThere('session', id, 'lcm get sessions --all')
  return session
}

/** Finds a definition by id, or the version of this name that would be booked. */
export async function findDefinition(client: Client, idOrName: string, signal: AbortSignal): Promise<LabletDefinition> {
  const read = (id: string) => unlessMissing(client.call('getDefinition', { params: { id }, signal }))
  const direct = idOrName.startsWith('ld-') ? await read(idOrName) : null
  if (direct !== null) return direct
  const [best] = (await versionsOf(client, idOrName, signal)).toSorted(byUse)
  const definition = best === undefined ? null : await read(best.id)
  if (definition === null) throw notThere('definition', idOrName, 'lcm get definitions --all')
  return definition
}

async function versionsOf(client: Client, name: string, signal: AbortSignal): Promise<DefinitionSummary[]> {
  if (!DefinitionName.safeParse(name).success) return []
  const read = (page: PageRequest) => client.call('listDefinitions', { query: { ...page, name }, signal })
  const versions: DefinitionSummary[] = []
  for await (const page of pagesOf(read)) versions.push(...page)
  return versions
}

const RANK: Readonly<Record<DefinitionSummary['status'], number>> = { ACTIVE: 0, PENDING_SYNC: 1, DEPRECATED: 2 }

const byUse = (a: DefinitionSummary, b: DefinitionSummary): number =>
  RANK[a.status] - RANK[b.status] || compareVersions(b.definition_version, a.definition_version)

/** Finds a lab by id or title. DELETED labs only match if no other does. */
export async function findLab(client: Client, idOrTitle: string, signal: AbortSignal): Promise<LabRecord> {
  if (idOrTitle.startsWith('lr-')) {
    const lab = await unlessMissing(client.call('getLab', { params: { id: idOrTitle }, signal }))
    if (lab !== null) return lab
  }
  const read = (page: PageRequest) => client.call('listLabs', { query: { ...page, include_deleted: true }, signal })
  const titled: LabRecord[] = []
  for await (const page of pagesOf(read)) titled.push(...page.filter(lab => lab.title === idOrTitle))
  return onlyOne(titled, {
    name: idOrTitle,
    singular: 'lab',
    plural: 'labs',
    isOver: lab => isGone(lab.status),
    line: ({ id, status, worker_id }) => `${id}  ${status}  ${worker_id}`,
  })
}

/** `name (id)` of a worker, or its id if its record was deleted. */
export async function workerLabel(client: Client, id: string | null, signal: AbortSignal): Promise<string | null> {
  if (id === null) return null
  const worker = await unlessMissing(client.call('getWorker', { params: { id }, signal }))
  return worker === null ? id : `${worker.name} (${id})`
}

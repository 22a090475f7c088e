import { type Client, unlessMissing } from '@lcm/client/client'
import { type PageRequest, pagesOf } from '@lcm/client/list-pages'
import type { AnswerOf } from '@lcm/contract/routes'
import { DefinitionName } from '@lcm/domain/definition/lablet-definition'
import { isGone, type LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { compareVersions } from '@lcm/domain/session/placement'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from './cli-error.ts'
import type { DefinitionSummary } from './definition/definition-view.ts'

const ID_PATTERN = /^w-[0-9a-z]+$/
const CANDIDATES_MAX = 10

/** Finds a worker by id or name. TERMINATED workers only match if no other does. */
export async function findWorker(client: Client, idOrName: string, signal: AbortSignal): Promise<Worker> {
  if (ID_PATTERN.test(idOrName)) {
    const worker = await unlessMissing(client.call('getWorker', { params: { id: idOrName }, signal }))
    if (worker !== null) return worker
  }
  return onlyOne(await byName(client, idOrName, signal), {
    name: idOrName,
    singular: 'worker',
    plural: 'workers',
    isOver: worker => worker.status === 'TERMINATED',
    line: ({ id, status, aws_region }) => `${id}  ${status}  ${aws_region}`,
  })
}

async function byName(client: Client, name: string, signal: AbortSignal): Promise<Worker[]> {
  const read = (page: PageRequest) =>
    client.call('listWorkers', { query: { ...page, q: name, include_terminated: true }, signal })
  const named: Worker[] = []
  for await (const page of pagesOf(read)) named.push(...page.filter(worker => worker.name === name))
  return named
}

/** All workers of this name that are not TERMINATED. */
export async function livingWorkers(client: Client, name: string, signal: AbortSignal): Promise<Worker[]> {
  const read = (page: PageRequest) => client.call('listWorkers', { query: { ...page, q: name }, signal })
  const living: Worker[] = []
  for await (const page of pagesOf(read))
    living.push(...page.filter(worker => worker.name === name && worker.status !== 'TERMINATED'))
  return living
}

/** Describes candidates of the same name in error messages. */
interface Naming<T> {
  readonly name: string
  readonly singular: string
  readonly plural: string
  isOver(item: T): boolean
  line(item: T): string
}

/** Returns the only candidate. Ended resources only count if there is no other. */
export function onlyOne<T>(named: readonly T[], naming: Naming<T>): T {
  const { name, singular, plural, isOver } = naming
  const living = named.filter(item => !isOver(item))
  const candidates = living.length > 0 ? living : named
  const [only] = candidates
  if (only === undefined) throw notThere(singular, name, `lcm get ${plural} --all`)
  if (candidates.length > 1) throw ambiguous(candidates, naming)
  return only
}

export const notThere = (noun: string, name: string, listing: string): CliError =>
  new CliError(EXIT.notFound, `${noun} ${name} not found`, `list all with \`${listing}\``)

function ambiguous<T>(candidates: readonly T[], { name, plural, line }: Naming<T>): CliError {
  const shown = candidates.slice(0, CANDIDATES_MAX).map(line)
  const more = candidates.length - shown.length
  const message = `${candidates.length} ${plural} are named ${name}`
  return new CliError(EXIT.conflict, message, 'use the id instead', more > 0 ? [...shown, `and ${more} more`] : shown)
}

/** Finds a template by name or id. */
export async function findTemplate(client: Client, idOrName: string, signal: AbortSignal): Promise<WorkerTemplate> {
  const named = await unlessMissing(client.call('getTemplate', { params: { name: idOrName }, signal }))
  if (named !== null) return named
  for await (const page of pagesOf(query => client.call('listTemplates', { query, signal }))) {
    const found = page.find(template => template.id === idOrName)
    if (found) return found
  }
  throw notThere('template', idOrName, 'lcm get templates')
}

/** Finds a session by id; sessions have no names. */
export async function findSession(client: Client, id: string, signal: AbortSignal): Promise<LabletSession> {
  const session = await unlessMissing(client.call('getSession', { params: { id }, signal }))
  if (session === null) throw notThere('session', id, 'lcm get sessions --all')
  return session
}

/** Finds a definition by id, or the version of this name that would be booked. */
export async function findDefinition(
  client: Client,
  idOrName: string,
  signal: AbortSignal,
): Promise<AnswerOf<'getDefinition'>> {
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

import { type Client, unlessMissing } from '@lcm/client/client'
import { type PageRequest, pagesOf } from '@lcm/client/list-pages'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from './exit-code.ts'

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
export interface Naming<T> {
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

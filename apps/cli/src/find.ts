import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { type PageRequest, pagesOf } from '@lcm/client/lists'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from './exit-code.ts'

const ID_PATTERN = /^w-[0-9a-z]+$/
const CANDIDATES_MAX = 10

/** The worker with this id, or the one with this name. One that lives goes before those that are TERMINATED. */
export async function findWorker(client: Client, idOrName: string, signal: AbortSignal): Promise<Worker> {
  if (ID_PATTERN.test(idOrName)) {
    const worker = await byId(client, idOrName, signal)
    if (worker !== null) return worker
  }
  const named = await byName(client, idOrName, signal)
  const living = named.filter(worker => worker.status !== 'TERMINATED')
  const candidates = living.length > 0 ? living : named
  const [only] = candidates
  if (only === undefined)
    throw new CliError(EXIT.notFound, `there is no worker ${idOrName}: \`lcm get workers --all\` lists them`)
  if (candidates.length > 1) throw ambiguous(idOrName, candidates)
  return only
}

async function byId(client: Client, id: string, signal: AbortSignal): Promise<Worker | null> {
  try {
    return await client.call('getWorker', { params: { id }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}

async function byName(client: Client, name: string, signal: AbortSignal): Promise<Worker[]> {
  const read = (page: PageRequest) =>
    client.call('listWorkers', { query: { ...page, q: name, include_terminated: true }, signal })
  const named: Worker[] = []
  for await (const page of pagesOf(read)) named.push(...page.filter(worker => worker.name === name))
  return named
}

function ambiguous(name: string, candidates: readonly Worker[]): CliError {
  const shown = candidates
    .slice(0, CANDIDATES_MAX)
    .map(({ id, status, aws_region }) => `${id}  ${status}  ${aws_region}`)
  const more = candidates.length - shown.length
  const message = `${candidates.length} workers are named ${name}: repeat with the id of the one you mean`
  return new CliError(EXIT.conflict, message, more > 0 ? [...shown, `and ${more} more`] : shown)
}

/** Templates are known by name; an id is looked up. */
export async function findTemplate(client: Client, idOrName: string, signal: AbortSignal): Promise<WorkerTemplate> {
  try {
    return await client.call('getTemplate', { params: { name: idOrName }, signal })
  } catch (error) {
    if (!isProblem(error, 'not_found')) throw error
  }
  for await (const page of pagesOf(query => client.call('listTemplates', { query, signal }))) {
    const found = page.find(template => template.id === idOrName)
    if (found) return found
  }
  throw new CliError(EXIT.notFound, `there is no template ${idOrName}: \`lcm get templates\` lists them`)
}

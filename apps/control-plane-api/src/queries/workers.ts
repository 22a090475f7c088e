import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Query } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { pageOf } from './page.ts'

export async function findWorker(api: Api, id: string): Promise<Worker> {
  const worker = await api.workers.get(id)
  if (worker === null) throw new ProblemError('not_found', `there is no worker ${id}`)
  return worker
}

export function listWorkers(api: Api, query: QueryOf<'listWorkers'>): Promise<AnswerOf<'listWorkers'>> {
  return pageOf(api, api.workers, query, filterOf(query))
}

function filterOf(query: QueryOf<'listWorkers'>): Omit<Query, 'limit' | 'after'> {
  const { status, desired_status, region, template, q } = query
  const where = Object.entries({ status, desired_status, aws_region: region, template_name: template })
  const given = where.flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]))
  const hideTerminated = !query.include_terminated && status === undefined
  return {
    where: Object.fromEntries(given),
    ...(hideTerminated ? { whereNot: { status: 'TERMINATED' } } : {}),
    ...(q === undefined ? {} : { contains: { name: q } }),
  }
}

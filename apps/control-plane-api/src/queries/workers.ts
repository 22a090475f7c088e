import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerView } from '@lcm/contract/worker-bodies'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { costOf } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Query, Sample } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { pageOf } from './page.ts'
import { sampleOf } from './telemetry.ts'

const PAGE = 1000

export async function findWorker(api: Api, id: string): Promise<Worker> {
  const worker = await api.workers.get(id)
  if (worker === null) throw new ProblemError('not_found', `there is no worker ${id}`)
  return worker
}

/** With what is joined to a worker when it is read and never stored with it. */
export async function viewOf(api: Api, worker: Worker): Promise<WorkerView> {
  const newest = await api.store.series.newest([`worker:${worker.id}`])
  return joined(worker, newest.get(`worker:${worker.id}`), toInstant(api.clock.now()))
}

export const getWorker = async (api: Api, id: string): Promise<WorkerView> => viewOf(api, await findWorker(api, id))

export async function listWorkers(api: Api, query: QueryOf<'listWorkers'>): Promise<AnswerOf<'listWorkers'>> {
  const page = await pageOf(api, api.workers, query, filterOf(query))
  const newest = await api.store.series.newest(page.items.map(worker => `worker:${worker.id}`))
  const now = toInstant(api.clock.now())
  return { ...page, items: page.items.map(worker => joined(worker, newest.get(`worker:${worker.id}`), now)) }
}

function joined(worker: Worker, newest: Sample | undefined, now: Instant): WorkerView {
  const sample = newest === undefined ? null : sampleOf(newest)
  return {
    ...worker,
    labs_count: null,
    nodes_count: sample?.nodes_count ?? null,
    utilisation: sample && {
      cpu: sample.cpu_utilization,
      memory: sample.memory_utilization,
      disk: sample.disk_utilization,
      at: sample.collected_at,
    },
    system_health: sample?.system_health ?? null,
    cost: costOf(worker, now),
  }
}

function filterOf(query: QueryOf<'listWorkers'>): Omit<Query, 'limit' | 'after'> {
  const { status, desired_status, region, template, q, label } = query
  const [labelName, ...labelValue] = label?.split('=') ?? []
  const where = Object.entries({
    status,
    desired_status,
    aws_region: region,
    template_name: template,
    [`label:${labelName}`]: label === undefined ? undefined : labelValue.join('='),
  })
  const given = where.flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]))
  const hideTerminated = !query.include_terminated && status === undefined
  return {
    where: Object.fromEntries(given),
    ...(hideTerminated ? { whereNot: { status: 'TERMINATED' } } : {}),
    ...(q === undefined ? {} : { contains: { name: q } }),
  }
}

/** Every worker, page by page to the end. */
export async function allWorkers(api: Api, where: Readonly<Record<string, string>> = {}): Promise<Worker[]> {
  const all: Worker[] = []
  let after = ''
  for (;;) {
    const page = await api.workers.list({ where, after, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return all
    after = last.id
  }
}

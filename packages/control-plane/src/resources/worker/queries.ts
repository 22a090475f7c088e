import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { WorkerView } from '@lcm/contract/worker'
import type { Actor } from '@lcm/domain/actor'
import { effectiveIdleAction } from '@lcm/domain/fleet/decide-idle'
import { toInstant } from '@lcm/domain/instant'
import { costOf } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { Query, Sample } from '@lcm/store/store'
import type { Api, Encoded, Request } from '../../api-context.ts'
import { jsonPage, memoizePerObject } from '../../http/json-page.ts'
import { OWNS_NOTHING, type Ownership, ownershipOf, redactWorker, sessionsOfWorker } from '../../visibility.ts'
import { listPage } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { labCountOf, labCountSeries, metricsOf, workerView } from './worker-view.ts'

const PAGE = 1000

export async function findWorker(api: Api, id: string): Promise<Worker> {
  const worker = await api.workers.get(id)
  if (worker === null) throw new ProblemError('not_found', `there is no worker ${id}`)
  return worker
}

export async function getWorker(api: Api, id: string, actor: Actor): Promise<WorkerView> {
  const worker = await findWorker(api, id)
  return workerView(api, redactWorker(worker, await ownershipOf(api, actor)))
}

/** Joins cached JSON of workers and samples: encoding them again would be most of the work. */
export async function listWorkers(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listWorkers'>, unknown>,
): Promise<Encoded<AnswerOf<'listWorkers'>>> {
  const own = await ownershipOf(api, actor)
  const { items, ...page } = await listPage(api, api.workers, query, filterOf(query))
  const series = items.map(worker => `worker:${worker.id}`)
  const labs = items.map(worker => labCountSeries(worker.id))
  const newest = await api.store.series.newest([...series, ...labs])
  const now = toInstant(api.clock.now())
  const joined = (worker: Worker, place: number): string => {
    const labs_count = labCountOf(newest.get(labs[place] ?? ''))
    const rest = JSON.stringify({ labs_count, cost: costOf(worker, now) })
    return `${openSampleJsonOf(newest.get(series[place] ?? ''))},${rest.slice(1)}`
  }
  const rows = items.map((worker, place): [Buffer, string] => [openJsonFor(worker, own), joined(worker, place)])
  return { kind: 'encoded', bytes: jsonPage(rows, page) }
}

/** JSON of a worker with its health, without the closing brace. */
const openJson = (worker: Worker) =>
  Buffer.from(JSON.stringify({ ...worker, health: workerHealth(worker) }).slice(0, -1))
const openJsonOf = memoizePerObject(openJson)
/** Shared by all actors without a session on the worker. */
const openJsonForOthers = memoizePerObject((worker: Worker) => openJson(redactWorker(worker, OWNS_NOTHING)))
function openJsonFor(worker: Worker, own: Ownership | null): Buffer {
  if (own === null) return openJsonOf(worker)
  const isGuest = sessionsOfWorker(worker).some(id => own.sessions.has(id))
  return isGuest ? openJson(redactWorker(worker, own)) : openJsonForOthers(worker)
}
/** Fields of the sample, before those that change with time. */
const openJsonOfSample = memoizePerObject((sample: Sample) => `,${JSON.stringify(metricsOf(sample)).slice(1, -1)}`)
const WITHOUT_SAMPLE = `,${JSON.stringify(metricsOf(undefined)).slice(1, -1)}`
const openSampleJsonOf = (sample: Sample | undefined) =>
  sample === undefined ? WITHOUT_SAMPLE : openJsonOfSample(sample)

function filterOf(query: QueryOf<'listWorkers'>): Omit<Query, 'limit' | 'after'> {
  const { status, desired_status, health, region, template, q, label } = query
  const [labelName, ...labelValue] = label?.split('=') ?? []
  const where = Object.entries({
    status,
    desired_status,
    health,
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

/** Every worker, page by page. */
export async function listAllWorkers(api: Api, where: Readonly<Record<string, string>> = {}): Promise<Worker[]> {
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

export async function workerActivity(api: Api, id: string, actor: Actor): Promise<AnswerOf<'getWorkerActivity'>> {
  const worker = redactWorker(await findWorker(api, id), await ownershipOf(api, actor))
  const settings = await currentSettings(api)
  return {
    worker_id: worker.id,
    idle_detection_enabled: worker.idle_detection_enabled,
    activity: worker.activity,
    pause: worker.pause,
    policy: {
      enabled: settings.idle_detection_enabled && worker.idle_detection_enabled,
      timeout_seconds: settings.idle_timeout_seconds,
      snooze_seconds: settings.idle_snooze_seconds,
      action: effectiveIdleAction(settings),
    },
  }
}

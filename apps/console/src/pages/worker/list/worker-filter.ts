import type { HealthStatus } from '@lcm/domain/health'
import { WORKER_STATUSES, type Worker, type WorkerStatus } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { healthIn } from '../../../parts/list/filter-controls.tsx'
import { pageHash, type Query } from '../../../state/router.ts'
import { NAME_FIRST, type Sort, sortOf, sortText } from './worker-sort.ts'

/** Filter and sort order, stored in the address. */
export interface WorkerFilter {
  /** Empty: all except TERMINATED. */
  readonly statuses: readonly WorkerStatus[]
  readonly text: string
  /** Null: any. */
  readonly health: HealthStatus | null
  /** Empty: any. */
  readonly region: string
  readonly template: string
  readonly sort: Sort
}

export const NO_FILTER: WorkerFilter = {
  statuses: [],
  text: '',
  health: null,
  region: '',
  template: '',
  sort: NAME_FIRST,
}

export function filterOf(query: Query): WorkerFilter {
  const named = new Set(query.status?.split(','))
  return {
    statuses: WORKER_STATUSES.filter(status => named.has(status)),
    text: query.q ?? '',
    health: healthIn(query.health),
    region: query.region ?? '',
    template: query.template ?? '',
    sort: sortOf(query.sort ?? ''),
  }
}

export const workersHash = ({ statuses, text, health, region, template, sort }: WorkerFilter): string =>
  pageHash('workers', {
    status: statuses.join(','),
    health: health ?? '',
    region,
    template,
    q: text,
    sort: sortText(sort),
  })

export const isFiltering = ({ statuses, text, health, region, template }: WorkerFilter): boolean =>
  statuses.length > 0 || health !== null || text.trim() !== '' || region !== '' || template !== ''

/** The search covers name, id, EC2 instance id and public address. */
export function matcherOf(filter: WorkerFilter): (worker: Worker) => boolean {
  const statuses = new Set(filter.statuses)
  const text = filter.text.trim().toLowerCase()
  const isWanted = ({ status }: Worker) => (statuses.size === 0 ? status !== 'TERMINATED' : statuses.has(status))
  const isThere = ({ aws_region, template_name }: Worker) =>
    (filter.region === '' || aws_region === filter.region) &&
    (filter.template === '' || template_name === filter.template)
  const isOfHealth = (worker: Worker) => filter.health === null || workerHealth(worker).status === filter.health
  return worker => isWanted(worker) && isThere(worker) && isOfHealth(worker) && (text === '' || isNamed(worker, text))
}

const isNamed = (worker: Worker, text: string): boolean =>
  worker.name.toLowerCase().includes(text) ||
  worker.id.includes(text) ||
  worker.ec2_instance_id?.includes(text) === true ||
  worker.public_ip?.includes(text) === true

/** Available values, plus the selected one even if no worker has it. */
export const choicesOf = (values: Iterable<string>, chosen: string): string[] =>
  [...new Set([...values, ...(chosen === '' ? [] : [chosen])])].toSorted()

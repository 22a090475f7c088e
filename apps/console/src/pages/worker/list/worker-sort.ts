import type { WorkerView } from '@lcm/contract/worker'
import { toMs } from '@lcm/domain/instant'
import { perHourOf } from '@lcm/domain/worker/cost'
import { WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import type { Usage } from '../../../state/usage-samples.ts'

export const SORT_COLUMNS = [
  'name',
  'status',
  'stage',
  'region',
  'type',
  'cpu',
  'memory',
  'labs',
  'sessions',
  'idle',
  'cost',
] as const
export type SortColumn = (typeof SORT_COLUMNS)[number]

export interface Sort {
  readonly by: SortColumn
  readonly isDescending: boolean
}
export const NAME_FIRST: Sort = { by: 'name', isDescending: false }

/** `cpu` ascending, `-cpu` descending. */
export function sortOf(text: string): Sort {
  const by = SORT_COLUMNS.find(column => column === text.replace(/^-/, ''))
  return by === undefined ? NAME_FIRST : { by, isDescending: text.startsWith('-') }
}

export const sortText = ({ by, isDescending }: Sort): string =>
  by === 'name' && !isDescending ? '' : `${isDescending ? '-' : ''}${by}`

/** Numeric columns start with the highest value. */
const DESCENDING_FIRST: readonly SortColumn[] = ['cpu', 'memory', 'labs', 'sessions', 'idle', 'cost']

/** Sort order after a click on a column head: its default first, then reversed. */
export const nextSort = (sort: Sort, by: SortColumn): Sort =>
  sort.by === by ? { by, isDescending: !sort.isDescending } : { by, isDescending: DESCENDING_FIRST.includes(by) }

export type UsageOf = (workerId: string) => Usage

/** In other statuses the last measurement is outdated. */
const MEASURED: readonly WorkerStatus[] = ['STARTING', 'RUNNING', 'DRAINING']
const isMeasured = ({ status }: WorkerView): boolean => MEASURED.includes(status)

/** Newest known value: from the event stream, else from the list. */
export const cpuOf = (worker: WorkerView, { cpu }: Usage): number | null =>
  isMeasured(worker) ? (cpu.at(-1) ?? worker.utilization?.cpu ?? null) : null
export const memoryOf = (worker: WorkerView, { memory }: Usage): number | null =>
  isMeasured(worker) ? (memory.at(-1) ?? worker.utilization?.memory ?? null) : null
export const sessionsOf = ({ reservations }: WorkerView): number => Object.keys(reservations).length

type Key = string | number | null

/** Sort keys. Times are negated, because the oldest time is the longest duration. */
const KEYS: Readonly<Record<Exclude<SortColumn, 'name'>, (worker: WorkerView, usageOf: UsageOf) => Key>> = {
  status: worker => WORKER_STATUSES.indexOf(worker.status),
  stage: worker => -toMs(worker.entered_status_at),
  region: worker => worker.aws_region,
  type: worker => worker.instance_type,
  cpu: (worker, usageOf) => cpuOf(worker, usageOf(worker.id)),
  memory: (worker, usageOf) => memoryOf(worker, usageOf(worker.id)),
  labs: worker => worker.labs_count,
  sessions: sessionsOf,
  idle: worker => (worker.activity.idle_since === null ? null : -toMs(worker.activity.idle_since)),
  cost: perHourOf,
}

const DIGITS = 12
const naturalKeys = new WeakMap<WorkerView, string>()

/** Natural sort key: `metal-9` before `metal-10`. Computed once per version of a worker. */
function naturalKeyOf(worker: WorkerView): string {
  const known = naturalKeys.get(worker)
  if (known !== undefined) return known
  const key = `${worker.name.toLowerCase().replace(/\d+/g, digits => digits.padStart(DIGITS, '0'))} ${worker.id}`
  naturalKeys.set(worker, key)
  return key
}

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

/** Unknown values come last in both directions. */
function compareKeys(a: Key, b: Key, isDescending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return (isDescending ? -1 : 1) * (typeof a === 'string' ? compare(a, String(b)) : compare(a, Number(b)))
}

/** Reused between sorts: ten thousand new objects per sort would dominate garbage collection. */
interface Entry {
  worker: WorkerView
  key: Key
  name: string
  /** Number of the last sort that included this worker. */
  round: number
}

export interface WorkerSorter {
  sorted(workers: readonly WorkerView[], sort: Sort, usageOf: UsageOf): WorkerView[]
}

/**
 * Sorts workers repeatedly. Starts from the previous order, because sorting a nearly sorted list takes one pass: with ten thousand
 * workers this keeps the page smooth.
 */
export function workerSorter(): WorkerSorter {
  const byId = new Map<string, Entry>()
  let entries: Entry[] = []
  let round = 0

  const entryOf = (worker: WorkerView): Entry => {
    const known = byId.get(worker.id)
    if (known !== undefined) return known
    const entry: Entry = { worker, key: null, name: '', round }
    byId.set(worker.id, entry)
    entries.push(entry)
    return entry
  }

  const forgetOthers = () => {
    for (const { worker, round: last } of entries) if (last !== round) byId.delete(worker.id)
    entries = entries.filter(entry => entry.round === round)
  }

  return {
    sorted(workers, sort, usageOf) {
      round += 1
      const keyOf = sort.by === 'name' ? () => 0 : KEYS[sort.by]
      workers.forEach(worker => {
        const entry = entryOf(worker)
        entry.worker = worker
        entry.key = keyOf(worker, usageOf)
        entry.name = naturalKeyOf(worker)
        entry.round = round
      })
      if (entries.length > workers.length) forgetOthers()
      const nameDirection = sort.by === 'name' && sort.isDescending ? -1 : 1
      entries.sort((a, b) => compareKeys(a.key, b.key, sort.isDescending) || nameDirection * compare(a.name, b.name))
      return entries.map(({ worker }) => worker)
    },
  }
}

import type { WorkerView } from '@lcm/contract/worker-bodies'
import { toMs } from '@lcm/domain/instant'
import { WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import type { Usage } from '../../../state/usage-samples.ts'
import { isSpending } from '../../../state/worker-view.ts'

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

/** `cpu` or, with the highest first, `-cpu`. */
export function sortOf(text: string): Sort {
  const by = SORT_COLUMNS.find(column => column === text.replace(/^-/, ''))
  return by === undefined ? NAME_FIRST : { by, isDescending: text.startsWith('-') }
}

export const sortText = ({ by, isDescending }: Sort): string =>
  by === 'name' && !isDescending ? '' : `${isDescending ? '-' : ''}${by}`

/** Names begin with A; numbers are looked at for the highest. */
const DESCENDING_FIRST: readonly SortColumn[] = ['cpu', 'memory', 'labs', 'sessions', 'idle', 'cost']

/** What a press on a column's head leads to: the column's own order first, then the other way round. */
export const nextSort = (sort: Sort, by: SortColumn): Sort =>
  sort.by === by ? { by, isDescending: !sort.isDescending } : { by, isDescending: DESCENDING_FIRST.includes(by) }

export type UsageOf = (workerId: string) => Usage

/** What was measured of the others is how busy they were before. */
const MEASURED: readonly WorkerStatus[] = ['STARTING', 'RUNNING', 'DRAINING']
const isMeasured = ({ status }: WorkerView): boolean => MEASURED.includes(status)

/** The newest that is known: what was heard since the page was opened, else what the list said. */
export const cpuOf = (worker: WorkerView, { cpu }: Usage): number | null =>
  isMeasured(worker) ? (cpu.at(-1) ?? worker.utilisation?.cpu ?? null) : null
export const memoryOf = (worker: WorkerView, { memory }: Usage): number | null =>
  isMeasured(worker) ? (memory.at(-1) ?? worker.utilisation?.memory ?? null) : null
export const sessionsOf = ({ reservations }: WorkerView): number => Object.keys(reservations).length

type Key = string | number | null

/** Instants sort as text: the longest ago is what is highest for a duration, so those are negated. */
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
  cost: worker => (isSpending(worker) ? worker.cost_per_hour_usd : 0),
}

const DIGITS = 12
const naturalKeys = new WeakMap<WorkerView, string>()

/** The name as people count: `metal-9` before `metal-10`. Made once for each version of a worker. */
function naturalKeyOf(worker: WorkerView): string {
  const known = naturalKeys.get(worker)
  if (known !== undefined) return known
  const key = `${worker.name.toLowerCase().replace(/\d+/g, digits => digits.padStart(DIGITS, '0'))} ${worker.id}`
  naturalKeys.set(worker, key)
  return key
}

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

/** What is unknown comes last whichever way round. */
function compareKeys(a: Key, b: Key, isDescending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return (isDescending ? -1 : 1) * (typeof a === 'string' ? compare(a, String(b)) : compare(a, Number(b)))
}

/** Kept from one order to the next and changed in place: ten thousand new ones each time would be most of what the tab throws away. */
interface Entry {
  worker: WorkerView
  key: Key
  name: string
  /** The last time that its worker was in the list. */
  turn: number
}

export interface WorkerSorter {
  sorted(workers: readonly WorkerView[], sort: Sort, usageOf: UsageOf): WorkerView[]
}

/**
 * Orders workers again and again. It begins with the order of last time, since a list that is nearly in order is sorted in one
 * pass: with ten thousand workers that is the difference between a smooth page and one that stutters at every event.
 */
export function workerSorter(): WorkerSorter {
  const byId = new Map<string, Entry>()
  let entries: Entry[] = []
  let turn = 0

  const entryOf = (worker: WorkerView): Entry => {
    const known = byId.get(worker.id)
    if (known !== undefined) return known
    const entry: Entry = { worker, key: null, name: '', turn }
    byId.set(worker.id, entry)
    entries.push(entry)
    return entry
  }

  const forgetOthers = () => {
    for (const { worker, turn: last } of entries) if (last !== turn) byId.delete(worker.id)
    entries = entries.filter(entry => entry.turn === turn)
  }

  return {
    sorted(workers, sort, usageOf) {
      turn += 1
      const keyOf = sort.by === 'name' ? () => 0 : KEYS[sort.by]
      workers.forEach(worker => {
        const entry = entryOf(worker)
        entry.worker = worker
        entry.key = keyOf(worker, usageOf)
        entry.name = naturalKeyOf(worker)
        entry.turn = turn
      })
      if (entries.length > workers.length) forgetOthers()
      const nameTurn = sort.by === 'name' && sort.isDescending ? -1 : 1
      entries.sort((a, b) => compareKeys(a.key, b.key, sort.isDescending) || nameTurn * compare(a.name, b.name))
      return entries.map(({ worker }) => worker)
    },
  }
}

import type { WorkerView } from '@lcm/contract/worker-bodies'
import { toMs } from '@lcm/domain/instant'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import type { Usage } from '../../samples.ts'
import { isSpending } from '../../worker-view.ts'

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
  readonly isDown: boolean
}
export const NAME_FIRST: Sort = { by: 'name', isDown: false }

/** `cpu` or, with the highest first, `-cpu`. */
export function sortOf(text: string): Sort {
  const by = SORT_COLUMNS.find(column => column === text.replace(/^-/, ''))
  return by === undefined ? NAME_FIRST : { by, isDown: text.startsWith('-') }
}

export const sortText = ({ by, isDown }: Sort): string => (by === 'name' && !isDown ? '' : `${isDown ? '-' : ''}${by}`)

/** Names begin with A; numbers are looked at for the highest. */
const BEGINS_DOWN: readonly SortColumn[] = ['cpu', 'memory', 'labs', 'sessions', 'idle', 'cost']

/** What a press on a column's head leads to: the column's own order first, then the other way round. */
export const pressed = (sort: Sort, by: SortColumn): Sort =>
  sort.by === by ? { by, isDown: !sort.isDown } : { by, isDown: BEGINS_DOWN.includes(by) }

export type UsageOf = (workerId: string) => Usage

/** The newest that is known: what was heard since the page was opened, else what the list said. */
export const cpuOf = (worker: WorkerView, { cpu }: Usage): number | null =>
  cpu.at(-1) ?? worker.utilisation?.cpu ?? null
export const memoryOf = (worker: WorkerView, { memory }: Usage): number | null =>
  memory.at(-1) ?? worker.utilisation?.memory ?? null
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
function compareKeys(a: Key, b: Key, isDown: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return (isDown ? -1 : 1) * (typeof a === 'string' ? compare(a, String(b)) : compare(a, Number(b)))
}

interface Entry {
  readonly worker: WorkerView
  readonly key: Key
  readonly name: string
}

export interface WorkerOrder {
  sorted(workers: readonly WorkerView[], sort: Sort, usageOf: UsageOf): WorkerView[]
}

/**
 * Orders workers again and again. It begins with the order of last time, since a list that is nearly in order is sorted in one
 * pass: with ten thousand workers that is the difference between a smooth page and one that stutters at every event.
 */
export function workerOrder(): WorkerOrder {
  let ranks: ReadonlyMap<string, number> = new Map()
  return {
    sorted(workers, sort, usageOf) {
      const keyOf = sort.by === 'name' ? () => 0 : KEYS[sort.by]
      const entryOf = (worker: WorkerView): Entry => ({
        worker,
        key: keyOf(worker, usageOf),
        name: naturalKeyOf(worker),
      })
      const nameTurn = sort.by === 'name' && sort.isDown ? -1 : 1
      const entries = asBefore(workers, ranks).map(entryOf)
      entries.sort((a, b) => compareKeys(a.key, b.key, sort.isDown) || nameTurn * compare(a.name, b.name))
      const ordered = entries.map(({ worker }) => worker)
      ranks = new Map(ordered.map(({ id }, rank) => [id, rank]))
      return ordered
    },
  }
}

/** In the order of last time, what is new at the end. */
function asBefore(workers: readonly WorkerView[], ranks: ReadonlyMap<string, number>): WorkerView[] {
  const known = new Array<WorkerView | undefined>(ranks.size)
  const fresh: WorkerView[] = []
  for (const worker of workers) {
    const rank = ranks.get(worker.id)
    if (rank === undefined) fresh.push(worker)
    else known[rank] = worker
  }
  return [...known.filter(worker => worker !== undefined), ...fresh]
}

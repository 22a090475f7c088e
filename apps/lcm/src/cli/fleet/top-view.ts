import type { WorkerView } from '@lcm/contract/worker'
import { type FleetCapacity, fleetCapacity } from '@lcm/domain/fleet/fleet-capacity'
import { type HealthStatus, withHealth } from '@lcm/domain/health'
import { toInstant, toMs } from '@lcm/domain/instant'
import { SESSION_STATUSES } from '@lcm/domain/session/lablet-session'
import { unknownPricesText, usdText } from '@lcm/domain/text/format-amounts'
import { costOf, isPriceUnknown } from '@lcm/domain/worker/cost'
import { WORKER_STATUSES, type WorkerStatus } from '@lcm/domain/worker/worker'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, columnWidths, GAP, tableLines } from '../terminal/table.ts'
import { statusOf } from '../worker/worker-view.ts'
import type { FleetSnapshot } from './fleet-snapshot.ts'

export const SORTS = ['cpu', 'memory', 'cost', 'idle', 'name'] as const
export type Sort = (typeof SORTS)[number]

/** One worker at one point in time. Values that were not measured or are hidden are null, never 0. */
export interface TopRow {
  readonly id: string
  readonly name: string
  readonly status: WorkerStatus
  readonly desired_status: string
  readonly health: HealthStatus
  readonly drain: WorkerView['drain']
  readonly cpu: number | null
  readonly memory: number | null
  readonly labs: number | null
  readonly sessions: number | null
  readonly per_hour_usd: number | null
  readonly spent_usd: number | null
  readonly idle_seconds: number | null
}

export interface Top {
  readonly at: string
  readonly workers: Counts
  readonly sessions: Counts
  /** Whether all sessions are counted, or only the caller's own. */
  readonly sees_all: boolean
  readonly capacity: FleetCapacity
  readonly per_hour_usd: number
  /** Workers whose machine has no known price; the sums lack them. */
  readonly unknown_prices: number
  readonly items: readonly TopRow[]
}

interface Counts {
  readonly total: number
  readonly by_status: Readonly<Record<string, number>>
  /** Counts of DEGRADED and DOWN ones. */
  readonly by_health: Readonly<Record<string, number>>
}

export function topOf(
  { workers, sessions, seesAll }: Pick<FleetSnapshot, 'workers' | 'sessions' | 'seesAll'>,
  sort: Sort,
  nowMs: number,
): Top {
  const rows = [...workers.values()].map(worker => rowOf(worker, nowMs))
  const items = seesAll ? rows : rows.map(row => ({ ...row, sessions: null }))
  return {
    at: toInstant(nowMs),
    workers: countsOf(WORKER_STATUSES, items),
    sessions: countsOf(
      SESSION_STATUSES,
      [...sessions.values()].map(({ status, health }) => ({ status, health: health.status })),
    ),
    sees_all: seesAll,
    capacity: fleetCapacity(workers.values()),
    per_hour_usd: items.reduce((sum, { per_hour_usd }) => sum + (per_hour_usd ?? 0), 0),
    unknown_prices: [...workers.values()].filter(isPriceUnknown).length,
    items: items.toSorted((a, b) => highestFirst(KEYS[sort](a), KEYS[sort](b)) || byName(a, b)),
  }
}

function countsOf(
  statuses: readonly string[],
  things: readonly { readonly status: string; readonly health: HealthStatus }[],
): Counts {
  const present = (values: readonly string[], of: (thing: (typeof things)[number]) => string) =>
    Object.fromEntries(
      values
        .map(value => [value, things.filter(thing => of(thing) === value).length] as const)
        .filter(([, count]) => count > 0),
    )
  const by_health = present(['DEGRADED', 'DOWN'], ({ health }) => health)
  return { total: things.length, by_status: present(statuses, ({ status }) => status), by_health }
}

const MEASURED: readonly WorkerStatus[] = ['STARTING', 'RUNNING', 'DRAINING']

function rowOf(worker: WorkerView, nowMs: number): TopRow {
  const { id, name, status, desired_status, drain, labs_count: labs, reservations, activity } = worker
  const { spent_usd, per_hour_usd } = costOf(worker, toInstant(nowMs))
  const isMeasured = MEASURED.includes(status) && (worker.utilization?.at ?? '') >= worker.entered_status_at
  const use = isMeasured ? worker.utilization : null
  const sessions = Object.keys(reservations).length
  const idle_seconds = activity.idle_since === null ? null : Math.max(0, nowMs - toMs(activity.idle_since)) / 1000
  const measured = { cpu: use?.cpu ?? null, memory: use?.memory ?? null }
  const health = worker.health.status
  return {
    id,
    name,
    status,
    desired_status,
    health,
    drain,
    ...measured,
    labs,
    sessions,
    per_hour_usd,
    spent_usd: spent_usd === 0 && isPriceUnknown(worker) ? null : spent_usd,
    idle_seconds,
  }
}

const KEYS: Readonly<Record<Sort, (row: TopRow) => number | null>> = {
  cpu: row => row.cpu,
  memory: row => row.memory,
  cost: row => row.per_hour_usd,
  idle: row => row.idle_seconds,
  name: () => null,
}

/** Sorts unknown values last. */
const highestFirst = (a: number | null, b: number | null): number => (b ?? -1) - (a ?? -1)

const names = new Intl.Collator('en', { numeric: true })
const byName = (a: TopRow, b: TopRow): number => names.compare(a.name, b.name)

/** Counts such as `3 workers: 2 RUNNING, 1 STARTING`, in one line if they fit. */
export function headLines({ workers, sessions, sees_all, capacity, per_hour_usd }: Top, width: number): string[] {
  const whose = sees_all ? '' : ' (yours)'
  const booked = countsText('session', sessions, whose)
  const { declared, usable, reserved } = capacity
  const nodes = declared.nodes === 0 ? [] : [`${reserved.nodes} of ${usable.nodes} nodes reserved`]
  const parts = [countsText('worker', workers), ...nodes, `${usdText(per_hour_usd)} per hour`, booked]
  const line = parts.join(BETWEEN)
  return width > 0 && line.length > width ? parts : [line]
}

export const BETWEEN = '  ·  '

/** Notes below the table that explain an empty column. */
export const footNotes = ({ sees_all, unknown_prices, items }: Top): string[] => {
  const unknown = unknownPricesText(unknown_prices)
  return [...(unknown === null ? [] : [unknown]), ...(sees_all || items.length === 0 ? [] : [NOT_COUNTED])]
}

const NOT_COUNTED = 'SESSIONS is empty because only operators and admins can see the sessions of others.'

function countsText(noun: string, { total, by_status, by_health }: Counts, whose = ''): string {
  const parts = [...Object.entries(by_status), ...Object.entries(by_health)].map(([name, count]) => `${count} ${name}`)
  return `${total} ${noun}${total === 1 ? '' : 's'}${whose}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`
}

const percentText = (share: number | null): string => (share === null ? '' : `${Math.round(share)}%`)

const moneyText = (usd: number | null): string => (usd === null ? 'unknown' : usdText(usd))

/** Columns by importance; the last ones are dropped first on a narrow terminal. */
const IMPORTANCE = ['NAME', 'STATUS', 'CPU', 'MEMORY', 'SESSIONS', 'COST/H', 'LABS', 'IDLE', 'SPENT']

const columnsOf = (colors: Colors): readonly Column<TopRow>[] => [
  { title: 'NAME', text: row => row.name },
  {
    title: 'STATUS',
    text: row => withHealth(statusOf(row), row.health),
    paint: (text, row) => statusColor(row.health === 'OK' ? row.status : row.health, colors)(text),
  },
  { title: 'CPU', text: row => percentText(row.cpu), isNumber: true },
  { title: 'MEMORY', text: row => percentText(row.memory), isNumber: true },
  { title: 'LABS', text: row => (row.labs === null ? '' : String(row.labs)), isNumber: true },
  { title: 'SESSIONS', text: row => (row.sessions === null ? '' : String(row.sessions)), isNumber: true },
  { title: 'COST/H', text: row => moneyText(row.per_hour_usd), isNumber: true },
  { title: 'SPENT', text: row => moneyText(row.spent_usd), isNumber: true },
  {
    title: 'IDLE',
    text: row => (row.idle_seconds === null ? '' : formatDuration(row.idle_seconds * 1000)),
    isNumber: true,
  },
]

/** The table for a terminal of this width; 0 means unlimited. */
export function topTable(items: readonly TopRow[], colors: Colors, width: number): string[] {
  const all = columnsOf(colors)
  for (let kept = IMPORTANCE.length; kept > 2; kept--) {
    const columns = all.filter(({ title }) => IMPORTANCE.slice(0, kept).includes(title))
    if (width === 0 || widthOf(columns, items) <= width) return tableLines(columns, items)
  }
  return tableLines(all.slice(0, 2), items)
}

const widthOf = (columns: readonly Column<TopRow>[], items: readonly TopRow[]): number =>
  columnWidths(columns, items).reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1)

export const NO_WORKERS = 'no workers found: create one with `lcm create worker --template NAME`'

/** A single snapshot, for a pipe or a log. */
export const snapshotLines = (top: Top, colors: Colors): string[] => [
  ...headLines(top, 0),
  ...(top.items.length === 0 ? [] : topTable(top.items, colors, 0)),
  ...footNotes(top),
]

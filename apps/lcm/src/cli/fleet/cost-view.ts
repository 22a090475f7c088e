import type { AnswerOf } from '@lcm/contract/routes'
import { usdText } from '@lcm/domain/text/format-amounts'
import { COST_CAUSES, type CostCause } from '@lcm/domain/worker/worker-field-schemas'
import type { Colors } from '../terminal/output.ts'
import { type Column, tableLines } from '../terminal/table.ts'

export type FleetCost = AnswerOf<'getFleetCost'>

interface Row {
  readonly name: string
  readonly spent_usd: number
  readonly saved_usd: number
  readonly by_cause: Readonly<Record<string, number>>
}

const CAUSES_SHOWN: readonly CostCause[] = ['session', 'boot', 'idle', 'drain']

/** The cost of each worker, and the total. */
export function costLines(cost: FleetCost, colors: Colors): string[] {
  if (cost.items.length === 0) return [`No cost since ${cost.since}.`]
  const rows: Row[] = cost.items.map(item => ({ ...item, name: item.name ?? `${item.worker_id} (removed)` }))
  const total: Row = { ...cost, name: TOTAL }
  const lines = tableLines(columnsFor(cost, colors), [...rows, total])
  return [...lines, '', ...sentences(cost)]
}

const TOTAL = 'total'

/** Rare causes only get a column if they cost something. */
function columnsFor(cost: FleetCost, colors: Colors): Column<Row>[] {
  const causes = COST_CAUSES.filter(cause => CAUSES_SHOWN.includes(cause) || usdOf(cost, cause) > 0)
  const ordered = [...CAUSES_SHOWN, ...causes.filter(cause => !CAUSES_SHOWN.includes(cause))]
  const money = (title: string, usd: (row: Row) => number): Column<Row> => ({
    title,
    text: row => (usd(row) === 0 ? '' : usdText(usd(row))),
    isNumber: true,
    paint: (text, { name }) => (name === TOTAL ? colors.bold(text) : text),
  })
  return [
    {
      title: 'WORKER',
      text: ({ name }) => name,
      paint: (text, { name }) => (name === TOTAL ? colors.bold(text) : text),
    },
    ...ordered.map(cause => money(cause.toUpperCase(), row => usdOf(row, cause))),
    money('SPENT', row => row.spent_usd),
    money('SAVED', row => row.saved_usd),
  ]
}

const usdOf = ({ by_cause }: Pick<Row, 'by_cause'>, cause: CostCause): number => by_cause[cause] ?? 0

function sentences(cost: FleetCost): string[] {
  const { spent_usd, saved_usd, since } = cost
  const used = spent_usd === 0 ? '' : `, ${shareText(usdOf(cost, 'session'), spent_usd)} of it for sessions`
  const saved =
    saved_usd === 0
      ? 'Pausing idle workers saved $0.00.'
      : `Pausing idle workers saved ${usdText(saved_usd)}, ${shareText(saved_usd, spent_usd + saved_usd)} of the cost without pausing.`
  return [`${usdText(spent_usd)} spent since ${since}${used}.`, saved]
}

const shareText = (part: number, whole: number): string => `${Math.round((100 * part) / whole)}%`

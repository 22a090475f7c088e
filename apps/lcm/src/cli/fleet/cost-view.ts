import type { AnswerOf } from '@lcm/contract/routes'
import type { PastRatio } from '@lcm/domain/economy/past-ratio'
import type { Instant } from '@lcm/domain/instant'
import { pastRatioText } from '@lcm/domain/text/economy-text'
import { countText, momentText, usdText } from '@lcm/domain/text/format-amounts'
import { COST_SHARES, type CostShare } from '@lcm/domain/worker/worker-field-schemas'
import type { Colors } from '../terminal/output.ts'
import { type Column, tableLines } from '../terminal/table.ts'

export type FleetCost = AnswerOf<'getFleetCost'>

/** Labs of ended sessions are known for a shorter time than costs. */
export interface CostRatio extends PastRatio {
  readonly since: Instant
}

interface Row {
  readonly name: string
  readonly spent_usd: number
  readonly saved_usd: number
  readonly by_cause: Readonly<Record<string, number>>
  readonly is_price_known?: boolean
}

const SHARES_SHOWN: readonly CostShare[] = ['session', 'boot', 'idle', 'drain', 'disk']

/** The cost of each worker, and the total. */
export function costLines(cost: FleetCost, ratio: CostRatio | null, colors: Colors): string[] {
  if (cost.items.length === 0) return [`No cost since ${momentText(cost.since)}.`]
  const rows: Row[] = cost.items.map(item => ({ ...item, name: item.name ?? `${item.worker_id} (removed)` }))
  const total: Row = { ...cost, name: TOTAL }
  const lines = tableLines(columnsFor(cost, colors), [...rows, total])
  return [...lines, '', ...sentences(cost), ...ratioLines(cost, ratio)]
}

function ratioLines(cost: FleetCost, ratio: CostRatio | null): string[] {
  if (ratio === null) return []
  const since = ratio.since === cost.since ? '' : `Since ${momentText(ratio.since)}: `
  return [`${since}${pastRatioText(ratio)}`]
}

const TOTAL = 'total'

/** Rare shares only get a column if they cost something. */
function columnsFor(cost: FleetCost, colors: Colors): Column<Row>[] {
  const rare = COST_SHARES.filter(share => !SHARES_SHOWN.includes(share) && usdOf(cost, share) > 0)
  const money = (title: string, usd: (row: Row) => number): Column<Row> => ({
    title,
    text: row => (usd(row) === 0 ? '' : usdText(usd(row))),
    isNumber: true,
    paint: (text, { name }) => (name === TOTAL ? colors.bold(text) : text),
  })
  const spent = money('SPENT', row => row.spent_usd)
  return [
    {
      title: 'WORKER',
      text: ({ name }) => name,
      paint: (text, { name }) => (name === TOTAL ? colors.bold(text) : text),
    },
    ...[...SHARES_SHOWN, ...rare].map(share => money(share.toUpperCase(), row => usdOf(row, share))),
    { ...spent, text: row => (row.is_price_known === false && row.spent_usd === 0 ? 'unknown' : spent.text(row)) },
    money('SAVED', row => row.saved_usd),
  ]
}

const usdOf = ({ by_cause }: Pick<Row, 'by_cause'>, share: CostShare): number => by_cause[share] ?? 0

function sentences(cost: FleetCost): string[] {
  const { spent_usd, saved_usd, since } = cost
  const used = spent_usd === 0 ? '' : `, ${shareText(usdOf(cost, 'session'), spent_usd)} of it for sessions`
  const saved =
    saved_usd === 0
      ? 'Pausing idle workers saved $0.00.'
      : `Pausing idle workers saved ${usdText(saved_usd)}, ${shareText(saved_usd, spent_usd + saved_usd)} of the cost without pausing.`
  const rest = cost.unknown_prices === 0 ? [] : [unknownText(cost.unknown_prices)]
  return [`${usdText(spent_usd)} spent since ${momentText(since)}${used}.`, saved, ...rest]
}

const unknownText = (workers: number): string =>
  `The sums are too low: for some of this time ${countText(workers, 'worker')} had no known price. Name missing prices in the regions file.`

const shareText = (part: number, whole: number): string => `${Math.round((100 * part) / whole)}%`

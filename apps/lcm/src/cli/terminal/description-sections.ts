import type { Health } from '@lcm/domain/health'
import type { Reason } from '@lcm/domain/reason'
import type { Condition } from '@lcm/domain/worker/worker'
import { ageOf } from '../worker/worker-view.ts'
import type { Colors } from './output.ts'
import { statusColor } from './status-color.ts'
import { type Column, printable, tableLines } from './table.ts'

export type Fact = readonly [name: string, text: string | null]

/** One line per fact; facts without text are left out. */
export const factLines = (facts: readonly Fact[], colors: Colors): string[] =>
  facts.flatMap(([name, text]) => (text ? [`  ${colors.dim(name.padEnd(10))} ${text}`] : []))

/** The health with its reason, and for how long. */
export function healthText({ status, reason, since }: Health, nowMs: number, colors: Colors): string {
  const shown = statusColor(status, colors)(status)
  if (status === 'OK') return shown
  return `${shown}${since === null ? '' : ` for ${ageOf(since, nowMs)}`}: ${printable(reason?.message ?? '')}`
}

/** The health in one sentence, for a text that explains it below; none while it is OK. */
export const healthLine = ({ status, since }: Health, nowMs: number, colors: Colors): string[] =>
  status === 'OK' || since === null
    ? []
    : [`Its health has been ${statusColor(status, colors)(status)} for ${ageOf(since, nowMs)}.`]

/** A titled part of a description; empty if it has no lines. */
export const section = (title: string, lines: readonly string[], colors: Colors): string[] =>
  lines.length === 0 ? [] : ['', colors.bold(title), ...lines.map(line => `  ${line}`)]

/** A table; no lines if it has no rows. */
export const tableOf = <T>(columns: readonly Column<T>[], items: readonly T[]): string[] =>
  items.length === 0 ? [] : tableLines(columns, items)

export const conditionLines = (conditions: readonly Condition[], nowMs: number): string[] =>
  tableOf(
    [
      { title: 'TYPE', text: condition => condition.type },
      { title: 'STATUS', text: condition => (condition.status ? 'true' : 'false') },
      { title: 'FOR', text: condition => ageOf(condition.since, nowMs) },
      { title: 'REASON', text: condition => condition.reason.code },
      { title: 'MESSAGE', text: condition => condition.reason.message },
    ],
    conditions,
  )

export interface Move {
  readonly from: string | null
  readonly to: string
  readonly at: string
  readonly because: Reason
}

/** Newest first. */
export const historyLines = (history: readonly Move[], nowMs: number): string[] =>
  history.toReversed().map(({ from, to, at, because }) => {
    const move = from === null ? to : `${from} -> ${to}`
    return printable(`${ageOf(at, nowMs).padEnd(8)}${move.padEnd(26)} ${because.message}`).trimEnd()
  })

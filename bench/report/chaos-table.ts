import type { ChaosVerdict } from '../../simulation/cluster/chaos/chaos.ts'
import { type FaultVerdict, VIOLATIONS } from '../../simulation/cluster/chaos/fault-under-load.ts'
import { shown } from './figure-report.ts'
import { sorted } from './quantiles.ts'

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

/** One row per fault, with a column per kind of violation. */
export function chaosTable({ verdicts, leftOut }: ChaosVerdict): string {
  const head = ['fault', 'steps', 'recovered after (half, all)', 'sessions', 'writes', ...VIOLATIONS.map(plural)]
  const descriptions = verdicts.map(({ name, description }) => `* **${name}**: ${description}.`)
  const left = leftOut.map(each => `* Left out: ${each}.`)
  return [row(head), row(head.map(() => '---')), ...verdicts.map(rowOf), '', ...descriptions, ...left].join('\n')
}

function rowOf({ name, steps, backAfterMs, sessions, writes, wrong }: FaultVerdict): string {
  const ordered = sorted(backAfterMs)
  const [half, all] = [ordered[(ordered.length - 1) >> 1], ordered.at(-1)].map(secondsOf)
  return row([name, steps, `${half}, ${all}`, sessions, shown(writes), ...VIOLATIONS.map(kind => wrong[kind].length)])
}

const secondsOf = (ms: number | undefined): string =>
  ms === undefined || !Number.isFinite(ms) ? 'never' : `${(ms / 1_000).toFixed(1)} s`

const PLURALS: Partial<Record<string, string>> = {
  'write lost': 'writes lost',
  'session lost': 'sessions lost',
  'lab astray': 'labs astray',
  'machine twice': 'machines twice',
  'machine astray': 'machines astray',
  'license astray': 'licenses astray',
  'book wrong': 'books wrong',
  'illegal move': 'illegal moves',
  'undecided move': 'undecided moves',
  'change missed': 'changes missed',
  'stale write': 'stale writes',
}
const plural = (kind: string): string => PLURALS[kind] ?? kind

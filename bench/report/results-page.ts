import type { Figure } from './figure-report.ts'
import type { BenchRun, Results } from './results-types.ts'

const row = (cells: readonly string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  row(head),
  row(head.map(() => '---')),
  ...rows.map(row),
]

/** `results.md`: every figure with its bar, missed ones first, and the charts. `benches` are the names of all benches. */
export function resultsPage(results: Results, benches: readonly string[]): string {
  const never = benches.filter(bench => !(bench in results))
  const runs = Object.entries(results).toSorted(([a], [b]) => a.localeCompare(b))
  const figures = runs.flatMap(([bench, run]) =>
    (run.report?.figures ?? [broken(bench)]).map(each => ({ bench, ...each })),
  )
  const judged = figures.filter(({ bar }) => bar !== '')
  const missed = judged.filter(({ met }) => met === false)
  const open = judged.filter(({ met }) => met === null)
  return `${[
    '# Results',
    '',
    'Made by `npm run bench`; [README.md](README.md) says what each figure means and how it is taken.',
    '',
    `${judged.length} bars: ${judged.length - missed.length - open.length} met, ${missed.length} missed, ${open.length} undecided.`,
    ...(never.length > 0 ? ['', `Never recorded: ${never.map(bench => `\`${bench}.ts\``).join(', ')}.`] : []),
    ...(missed.length > 0 ? ['', 'Missed:', ''] : []),
    ...missed.map(({ bench, what, bar, result }) => `* ${what}: ${result}, and the bar is ${bar} (\`${bench}.ts\`)`),
    '',
    ...table(
      ['figure', 'bar', 'result', 'met', 'by'],
      figures.map(each => [each.what, each.bar, each.result, verdictOf(each), `\`${each.bench}.ts\``]),
    ),
    '',
    '## Runs',
    '',
    ...table(
      ['bench', 'when', 'took', 'commit', 'Node', 'cores', 'load average before'],
      runs.map(([bench, run]) => [`\`${bench}.ts\``, ...whenAndWhere(run)]),
    ),
    '',
    '## Pictures',
    ...runs
      .flatMap(([, { report }]) => report?.charts ?? [])
      .flatMap(({ name, title }) => ['', `![${title}](charts/${name}.svg)`]),
  ].join('\n')}\n`
}

const broken = (bench: string): Figure => ({
  what: `\`${bench}.ts\` failed before it reported a result`,
  bar: 'it ends',
  result: 'it broke',
  met: false,
})

const verdictOf = ({ bar, met }: Figure): string =>
  bar === '' ? '' : met === null ? 'undecided' : met ? 'met' : '**missed**'

const whenAndWhere = ({ at, seconds, commit, node, cores, load_average }: BenchRun): string[] => [
  `${at.slice(0, 16).replace('T', ' ')} UTC`,
  `${Math.round(seconds)} s`,
  commit,
  node,
  String(cores),
  load_average.toFixed(1),
]

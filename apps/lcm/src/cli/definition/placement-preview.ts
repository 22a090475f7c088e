import type { AnswerOf } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { section, tableOf } from '../terminal/description.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'

type Preview = AnswerOf<'previewPlacement'>

const WORDS: Readonly<Record<Exclude<Preview['outcome'], 'place'>, string>> = {
  wait: 'would wait',
  resume: 'would start a stopped worker',
  scale_up: 'would start a scale-up',
  unschedulable: 'could not be placed',
}

/** The reason of a placement begins with `placed on`. */
const outcomeText = ({ outcome, because }: Preview): string =>
  outcome === 'place' ? `would be ${because.message}` : `${WORDS[outcome]}: ${because.message}`

/** The placement of a session that starts now, with all candidates and refusals. */
export function previewLines(definition: LabletDefinition, preview: Preview, colors: Colors): string[] {
  const name = colors.bold(`${definition.name} ${definition.definition_version}`)
  const part = (title: string, lines: readonly string[]) => section(title, lines, colors)
  return [
    `A session of ${name} that starts now ${printable(outcomeText(preview))}.`,
    ...part('Candidates, best first', tableOf(CANDIDATE_COLUMNS, preview.candidates)),
    ...part('Rejected', tableOf(REFUSAL_COLUMNS, preview.refusals)),
  ]
}

const percent = (share: number): string => `${Math.round(share * 100)}%`

const CANDIDATE_COLUMNS: readonly Column<Preview['candidates'][number]>[] = [
  { title: 'WORKER', text: ({ worker_name }) => worker_name },
  { title: 'ID', text: ({ worker_id }) => worker_id },
  { title: 'SCORE', text: ({ score }) => score.toFixed(2) },
  { title: 'CPU', text: ({ before, after }) => `${percent(before.cpu)} -> ${percent(after.cpu)}` },
  { title: 'MEMORY', text: ({ before, after }) => `${percent(before.memory)} -> ${percent(after.memory)}` },
]

const REFUSAL_COLUMNS: readonly Column<Preview['refusals'][number]>[] = [
  { title: 'WORKER', text: ({ worker_name }) => worker_name },
  { title: 'ID', text: ({ worker_id }) => worker_id },
  { title: 'CATEGORY', text: ({ category }) => category },
  { title: 'REASON', text: ({ because }) => because.message },
]

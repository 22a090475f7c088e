import type { AnswerOf } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { section, tableOf } from '../terminal/description.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'

type Preview = AnswerOf<'previewPlacement'>

const WORDS: Readonly<Record<Preview['outcome'], string>> = {
  place: 'would have a place at once',
  wait: 'would wait',
  resume: 'would have a worker that sleeps started',
  scale_up: 'would have a new worker bought',
  unschedulable: 'could never be placed',
}

/** What would become of a session that begins now, and what each worker says to it. */
export function previewLines(definition: LabletDefinition, preview: Preview, colors: Colors): string[] {
  const name = colors.bold(`${definition.name} ${definition.definition_version}`)
  const part = (title: string, lines: readonly string[]) => section(title, lines, colors)
  return [
    `A session of ${name} that begins now ${WORDS[preview.outcome]}: ${printable(preview.because)}.`,
    ...part('Could take it, best first', tableOf(CANDIDATE_COLUMNS, preview.candidates)),
    ...part('Could not', tableOf(REFUSAL_COLUMNS, preview.refusals)),
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
  { title: 'BECAUSE', text: ({ because }) => because },
]

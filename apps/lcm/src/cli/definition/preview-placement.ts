import type { AnswerOf } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition } from '../find-resource.ts'
import { invocation } from '../invocation.ts'
import { toJson } from '../terminal/data-text.ts'
import { section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'

export function definePreview(group: Command, shell: Shell): void {
  group
    .command('definition <id>')
    .alias('definitions')
    .description('Show where a session would be placed now, and why other workers are rejected')
    .option('--json', 'Print the API response as JSON')
    .action(async (idOrName: string, { json = false }: { json?: boolean }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const definition = await findDefinition(client, idOrName, shell.signal)
      const preview = await client.call('previewPlacement', { params: { id: definition.id }, signal: shell.signal })
      if (json) output.out(toJson(preview, 2))
      else previewLines(definition, preview, output.colors).forEach(output.out)
    })
  group.addHelpText('afterAll', '\nExamples:\n  lcm preview definition bgp-basics')
}

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
function previewLines(definition: LabletDefinition, preview: Preview, colors: Colors): string[] {
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

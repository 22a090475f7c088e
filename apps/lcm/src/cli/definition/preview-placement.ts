import type { AnswerOf } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { countText, momentText } from '@lcm/domain/text/format-amounts'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition } from '../find-resource.ts'
import { invocation } from '../invocation.ts'
import { alternativeLines, minutesOf, seatsOf, type TimeOptions, timeOf } from '../session/booking-options.ts'
import { toJson } from '../terminal/data-text.ts'
import { section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'

export function definePreview(group: Command, shell: Shell): void {
  group
    .command('definition <id>', { isDefault: true })
    .alias('definitions')
    .description('Show where a session would be placed now, or whether a booking would be admitted')
    .option('--start <time>', 'Show whether a booking would be admitted then (default: now)', timeOf)
    .option('--for <duration>', 'Duration of that booking, such as 90m', minutesOf)
    .option('--seats <count>', 'Seats of that booking', seatsOf)
    .option('--json', 'Print the API response as JSON')
    .action(async (idOrName: string, { json = false, ...times }: PreviewOptions, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const definition = await findDefinition(client, idOrName, shell.signal)
      if (Object.keys(times).length > 0) {
        const { start, for: duration_minutes, seats } = times
        const body = { start, duration_minutes, seats }
        const tried = await client.call('previewAdmission', {
          params: { id: definition.id },
          body,
          signal: shell.signal,
        })
        if (json) output.out(toJson(tried, 2))
        else admissionLines(definition, tried, times).forEach(output.out)
        return
      }
      const preview = await client.call('previewPlacement', { params: { id: definition.id }, signal: shell.signal })
      if (json) output.out(toJson(preview, 2))
      else previewLines(definition, preview, output.colors).forEach(output.out)
    })
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm preview definition bgp-basics
  lcm preview bgp-basics --start 2026-01-31T09:00Z --seats 20`

interface PreviewOptions extends TimeOptions {
  readonly json?: boolean
}

/** Whether the seats would be admitted, else the commands that book them at other times. */
function admissionLines(
  { name, definition_version }: LabletDefinition,
  { outcome, timeslot, seats, because, alternatives }: AnswerOf<'previewAdmission'>,
  times: TimeOptions,
): string[] {
  const slot = `from ${momentText(timeslot.start)} to ${momentText(timeslot.end)}`
  const tried = `${countText(seats, 'seat')} of ${name} ${definition_version} ${slot}`
  if (outcome === 'admitted') return [printable(`${tried} would be admitted.`)]
  return [
    printable(`${tried} would be refused: ${because?.message ?? ''}.`),
    ...alternativeLines(name, alternatives, times),
  ]
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

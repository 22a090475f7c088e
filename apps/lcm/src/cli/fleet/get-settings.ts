import type { AnswerOf } from '@lcm/contract/routes'
import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { type Column, tableLines } from '../terminal/table.ts'

export function defineGetSettings(get: Command, shell: Shell): void {
  get
    .command('settings [name]')
    .description('List settings with their values and sources, or show one by name')
    .addOption(formatOption().default('table'))
    .action(async (name: string | undefined, { output }: { output: Format }, command: Command) =>
      showSettings(name, output, invocation(command, shell)),
    )
}

type Setting = readonly [name: string, AnswerOf<'getSettings'>['settings'][keyof AnswerOf<'getSettings'>['settings']]]

const COLUMNS: readonly Column<Setting>[] = [
  { title: 'NAME', text: ([name]) => name },
  { title: 'VALUE', text: ([, { value }]) => String(value) },
  { title: 'SOURCE', text: ([, { source }]) => source },
]

async function showSettings(
  name: string | undefined,
  format: Format,
  { shell, output, connect }: Invocation,
): Promise<void> {
  const { client } = await connect()
  const answer = await client.call('getSettings', { signal: shell.signal })
  const all: readonly Setting[] = Object.entries(answer.settings)
  const shown = name === undefined ? all : all.filter(([each]) => each === name)
  const [first] = shown
  if (first === undefined)
    throw new CliError(EXIT.notFound, `there is no setting ${name}`, 'list them with `lcm get settings`')
  const data = name === undefined ? answer : { name: first[0], ...first[1] }
  await printDocument(
    { data, names: () => shown.map(([each]) => each), lines: () => tableLines(COLUMNS, shown) },
    format,
    output,
  )
}

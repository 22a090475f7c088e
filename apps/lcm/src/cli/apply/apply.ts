import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import { CliError, exitCodeOf } from '../exit-code.ts'
import { failureOf } from '../failure.ts'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import { toYaml } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { printable } from '../terminal/table.ts'
import { changeLine } from './changes.ts'
import { readSources, readWanted, type Wanted } from './documents.ts'
import { type Outcome, type Step, stepFor } from './steps.ts'

interface ApplyOptions {
  readonly file: string
  readonly dryRun?: boolean
  readonly output?: Format
}

export function defineApply(apply: Command, shell: Shell): void {
  apply
    .requiredOption(
      '-f, --file <file>',
      'YAML or JSON with one or many documents; a folder of such files; - for standard input',
    )
    .option('--dry-run', 'only say what would be done, field by field')
    .addOption(formatOption())
    .action(async (options: ApplyOptions, command: Command) => runApply(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Each document has a kind (Template, Definition or Worker), a name, and the fields of the API; what it leaves out stays as it is, or
gets its default where the thing is new. Nothing is done unless all of it can be. What is not named is left alone.

  kind: Template                 kind: Definition               kind: Worker
  name: metal                    name: bgp-basics               name: metal-1
  instance_types: [m5zn.metal]   topology_file: bgp.yaml        template_name: metal
  …                              max_duration_minutes: 120      labels: { team: blue }

A topology_file is looked for beside the document that names it; in a folder it is taken for that and for nothing else.

A definition that can be booked stays as it is, and its next version takes its place. A worker that lives is tagged, labelled or
protected anew; where it is and what it was made from can't be changed.

Examples:
  lcm apply -f deploy/templates --dry-run     what would change
  lcm apply -f fleet.yaml                     the same a second time changes nothing
  cat fleet.yaml | lcm apply -f -`

async function runApply(options: ApplyOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { file, dryRun = false, output: format } = options
  const wanted = await readWanted(await readSources(file, shell.readInput))
  const { client } = await connect()
  const steps = await planned(client, wanted, shell.signal)
  const done: Done[] = []
  const report = { output, format, dryRun }
  try {
    for (const step of steps) {
      done.push({ ...step, outcome: dryRun ? step.outcome : await step.perform() })
      if (format === undefined && !output.quiet) linesOf(done.at(-1), dryRun).forEach(output.out)
    }
  } catch (error) {
    await print(done, report)
    const left = steps.slice(done.length + 1).map(({ kind, name }) => `${kind} ${name}: not done`)
    const { sentence, details } = failureOf(error)
    const at = steps[done.length]
    throw new CliError(exitCodeOf(error), `${at?.kind} ${at?.name}: ${sentence}`, [...details, ...left])
  }
  await print(done, report)
}

type Done = Pick<Step, 'kind' | 'name' | 'changes'> & { readonly outcome: Outcome }

/** Everything is looked at before anything is done; all refusals are told at once. */
async function planned(client: Client, wanted: readonly Wanted[], signal: AbortSignal): Promise<Step[]> {
  const looks = await Promise.allSettled(wanted.map(each => stepFor(client, each, wanted, signal)))
  const refusals = looks.flatMap((look, at) => {
    if (look.status === 'fulfilled') return []
    const each = wanted[at]
    return [{ error: look.reason, line: `${each?.kind} ${each?.name}: ${failureOf(look.reason).sentence}` }]
  })
  const [first] = refusals
  if (first === undefined) return looks.flatMap(look => (look.status === 'fulfilled' ? [look.value] : []))
  if (refusals.length === 1) throw first.error
  throw new CliError(
    exitCodeOf(first.error),
    'nothing was done: mend these and repeat',
    refusals.map(({ line }) => line),
  )
}

const WOULD: Readonly<Record<Outcome, string>> = {
  created: 'would be created',
  changed: 'would be changed',
  unchanged: 'unchanged',
}

function linesOf(done: Done | undefined, isDry: boolean): string[] {
  if (done === undefined) return []
  const { kind, name, outcome, changes } = done
  const fields = outcome === 'changed' && isDry ? changes.map(change => printable(`  ${changeLine(change)}`)) : []
  return [`${kind.toLowerCase()} ${printable(name)} ${isDry ? WOULD[outcome] : outcome}`, ...fields]
}

interface Report {
  readonly output: Invocation['output']
  readonly format: Format | undefined
  readonly dryRun: boolean
}

async function print(done: readonly Done[], { output, format, dryRun }: Report): Promise<void> {
  const items = done.map(({ kind, name, outcome, changes }) => ({ kind, name, outcome, changes }))
  if (format === 'json') return output.out(JSON.stringify({ dry_run: dryRun, items }, null, 2))
  if (format === 'yaml') return output.out(await toYaml({ dry_run: dryRun, items }))
  if (format === 'name') return items.map(({ name }) => printable(name)).forEach(output.out)
  if (format === 'table') return done.flatMap(each => linesOf(each, dryRun)).forEach(output.out)
}

import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import { CliError, exitCodeOf } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { failureOf, failureText } from '../failure-message.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { toJson, toYaml } from '../terminal/data-text.ts'
import { printable } from '../terminal/table.ts'
import { changeLine } from './field-changes.ts'
import { type Manifest, readManifests, readSources } from './manifests.ts'
import { type Outcome, type Performed, type Step, stepFor } from './resource-changes.ts'

interface ApplyOptions {
  readonly file: string
  readonly dryRun?: boolean
  readonly output?: Format
}

export function defineApply(apply: Command, shell: Shell): void {
  apply
    .requiredOption(
      '-f, --file <file>',
      'YAML or JSON file with one or more documents, a folder of such files, or - for standard input',
    )
    .option('--dry-run', 'Only show what would change, field by field')
    .addOption(formatOption())
    .action(async (options: ApplyOptions, command: Command) => runApply(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Each document has a kind (LicensePool, Template, Definition or Worker), a name and the fields of the API. Omitted fields keep their
value, or get their default if the resource is new. All documents are checked before anything is changed. Other resources are not touched.

  kind: Template                 kind: Definition               kind: Worker
  name: metal                    name: bgp-basics               name: metal-1
  instance_types: [m5zn.metal]   topology_file: bgp.yaml        template_name: metal
  …                              max_duration_minutes: 120      labels: { team: blue }

The name of a LicensePool is its product; it has seats, and a token_file with the Smart Licensing token.

A path in topology_file or token_file is relative to the document that names it. Files used as topology_file are not read as
documents.

Changing an ACTIVE definition creates its next version. Of an existing worker, only tags, labels and protection can change; its
region and template can't.

Examples:
  lcm apply -f deploy/templates --dry-run     show what would change
  lcm apply -f fleet.yaml                     applying it again changes nothing
  cat fleet.yaml | lcm apply -f -`

async function runApply(options: ApplyOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { file, dryRun = false, output: format } = options
  const manifests = await readManifests(await readSources(file, shell.readInput))
  const { client } = await connect()
  const steps = await planned(client, manifests, shell.signal)
  const done: Done[] = []
  const report = { output, format, dryRun }
  try {
    for (const step of steps) {
      const { outcome, warnings } = dryRun ? { outcome: step.outcome, warnings: [] } : await step.perform()
      done.push({ ...step, outcome, warnings })
      if (format === undefined && !output.quiet) linesOf(done.at(-1), dryRun).forEach(output.out)
    }
  } catch (error) {
    await print(done, report)
    const left = steps.slice(done.length + 1).map(({ kind, name }) => `${kind} ${name}: skipped`)
    const { message, advice, details } = failureOf(error)
    const at = steps[done.length]
    throw new CliError(exitCodeOf(error), `${at?.kind} ${at?.name}: ${message}`, advice, [...details, ...left])
  }
  await print(done, report)
}

type Done = Pick<Step, 'kind' | 'name' | 'changes'> & Performed

/** Plans all steps before any is performed, and reports all refusals together. */
async function planned(client: Client, manifests: readonly Manifest[], signal: AbortSignal): Promise<Step[]> {
  const results = await Promise.allSettled(manifests.map(each => stepFor(client, each, manifests, signal)))
  const refusals = results.flatMap((result, at) => {
    if (result.status === 'fulfilled') return []
    const each = manifests[at]
    return [{ error: result.reason, line: `${each?.kind} ${each?.name}: ${failureText(failureOf(result.reason))}` }]
  })
  const [first] = refusals
  if (first === undefined) return results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  if (refusals.length === 1) throw first.error
  throw new CliError(
    exitCodeOf(first.error),
    'nothing was changed',
    'fix these errors and try again',
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
  const { kind, name, outcome, changes, warnings } = done
  const fields = outcome === 'changed' && isDry ? changes.map(change => printable(`  ${changeLine(change)}`)) : []
  return [
    `${kind.toLowerCase()} ${printable(name)} ${isDry ? WOULD[outcome] : outcome}`,
    ...fields,
    ...warnings.map(each => `  ${each}`),
  ]
}

interface Report {
  readonly output: Invocation['output']
  readonly format: Format | undefined
  readonly dryRun: boolean
}

async function print(done: readonly Done[], { output, format, dryRun }: Report): Promise<void> {
  const items = done.map(({ kind, name, outcome, changes }) => ({ kind, name, outcome, changes }))
  if (format === 'json') return output.out(toJson({ dry_run: dryRun, items }, 2))
  if (format === 'yaml') return output.out(await toYaml({ dry_run: dryRun, items }))
  if (format === 'name') return items.map(({ name }) => printable(name)).forEach(output.out)
  if (format === 'table') return done.flatMap(each => linesOf(each, dryRun)).forEach(output.out)
}

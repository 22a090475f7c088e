import { basename } from 'node:path'
import { DefinitionName, type LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { countText } from '@lcm/domain/text/format-amounts'
import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { DEFINITION_VIEW, printOne } from '../resource-view.ts'
import { needsOf, warningLines } from './definition-view.ts'
import { type TopologyOptions, topologyGiven } from './topology-options.ts'

const MINUTES_MAX = 7 * 24 * 60

interface CreateDefinitionOptions extends TopologyOptions {
  readonly name?: string
  readonly title?: string
  readonly maxMinutes?: number
  readonly output?: Format
}

export function addCreateDefinition(create: Command, shell: Shell): void {
  const noun = create.command('definition').description('Create a definition of a bookable lab from a CML topology')
  addDefinitionOptions(noun)
    .option('--name <name>', 'Definition name (default: from the file name)')
    .addOption(formatOption())
    .action(async (options: CreateDefinitionOptions, command: Command) =>
      createDefinition(options, invocation(command, shell)),
    )
}

/** Options shared by `create definition` and `edit definition`. */
export const addDefinitionOptions = (command: Command): Command =>
  command
    .option('-f, --file <file>', 'Topology file exported from CML (YAML)')
    .option('--source <address>', 'Address to fetch the topology from: file:, https:// or s3://')
    .option('--title <title>', 'Title shown to users')
    .option('--max-minutes <count>', 'Maximum duration of a session, in minutes', wholeNumber(1, MINUTES_MAX))

async function createDefinition(options: CreateDefinitionOptions, invoked: Invocation): Promise<void> {
  const { file, source, title, maxMinutes: max_duration_minutes, output: format } = options
  const { shell, output, connect } = invoked
  const given = await topologyGiven(options)
  if (given === null) throw new CliError(EXIT.usage, 'a definition needs a topology', 'use --file or --source')
  const name = options.name ?? nameIn(file ?? source ?? '')
  const { client } = await connect()
  const body = { name, ...given, title, max_duration_minutes }
  const definition = await client.call('createDefinition', { body, signal: shell.signal })
  if (format !== undefined) return printOne(DEFINITION_VIEW, definition, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) for (const line of [createdText(definition), ...warningLines(definition)]) output.out(line)
}

const createdText = (definition: LabletDefinition): string =>
  `definition ${definition.name} ${definition.definition_version} (${definition.id}) is ${definition.status}: ` +
  `${needsOf(definition)}, ${countText(definition.port_template.length, 'port')}`

/** `labs/BGP basics.yaml` is `bgp-basics`. */
function nameIn(file: string): string {
  const name = basename(file)
    .replace(/\.[^.]*$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  if (DefinitionName.safeParse(name).success) return name
  throw new CliError(EXIT.usage, `can't derive a name from ${file}`, 'set one with --name')
}

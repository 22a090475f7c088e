import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { addDefinitionOptions } from '../definition/create-definition.ts'
import { warningLines } from '../definition/definition-view.ts'
import { type TopologyOptions, topologyGiven } from '../definition/topology-options.ts'
import { findDefinition } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addEditLicensePool } from '../license/license-pool-commands.ts'
import { addEditTarget } from '../notification/target-commands.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { addEditPerson } from '../person/person-commands.ts'
import { DEFINITION_VIEW, printOne } from '../resource-view.ts'
import { addEditTemplate } from '../template/edit-template.ts'

interface EditOptions extends TopologyOptions {
  readonly title?: string
  readonly maxMinutes?: number
  readonly output?: Format
}

export function defineEdit(group: Command, shell: Shell): void {
  const noun = group
    .command('definition <id>')
    .alias('definitions')
    .description('Change a definition; if it is ACTIVE, create its next version')
  addDefinitionOptions(noun)
    .addOption(formatOption())
    .action(async (idOrName: string, options: EditOptions, command: Command) =>
      edit(idOrName, options, invocation(command, shell)),
    )
  addEditTemplate(group, shell)
  addEditPerson(group, shell)
  addEditTarget(group, shell)
  addEditLicensePool(group, shell)
  const examples = [
    'lcm edit template metal --file metal.yaml           same as `lcm apply`',
    'lcm edit definition bgp-basics --file bgp.yaml      other fields keep their values',
    'lcm edit definition bgp-basics --max-minutes 120',
    'lcm edit person jane@example.org --role author --group bgp-101 bgp-102',
    'lcm edit target ops --severity critical',
    'lcm edit license-pool CML_Enterprise --seats 6',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function edit(idOrName: string, options: EditOptions, invoked: Invocation): Promise<void> {
  const { title, maxMinutes: max_duration_minutes, output: format } = options
  const { shell, output, connect } = invoked
  const given = await topologyGiven(options)
  if (given === null && title === undefined && max_duration_minutes === undefined)
    throw new CliError(EXIT.usage, 'nothing to change', 'use --file, --source, --title or --max-minutes')
  const { client } = await connect()
  const current = await findDefinition(client, idOrName, shell.signal)
  // Only the changed fields are sent: the API distinguishes fields set by the author from fields read from the topology.
  const body = {
    ...given,
    ...(title === undefined ? {} : { title }),
    ...(max_duration_minutes === undefined ? {} : { max_duration_minutes }),
  }
  const call = { params: { id: current.id }, ifMatch: current.version, signal: shell.signal }
  const definition = await client.call('putDefinition', { ...call, body })
  if (format !== undefined) return printOne(DEFINITION_VIEW, definition, { output, format, nowMs: shell.clock.now() })
  if (output.quiet) return
  const { name, id, definition_version, status } = definition
  const isSame = definition.version === current.version && id === current.id
  output.out(`definition ${name} ${definition_version} (${id}) is ${status}${isSame ? ', unchanged' : ''}`)
  for (const line of warningLines(definition)) output.out(line)
}

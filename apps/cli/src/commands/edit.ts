import type { BodyInput } from '@lcm/contract/routes'
import type { LabletDefinition } from '@lcm/domain/lablet/lablet-definition'
import { portsOf } from '@lcm/domain/lablet/ports'
import { needsOf, Topology } from '@lcm/domain/lablet/topology'
import type { Command } from 'commander'
import { parse } from 'yaml'
import { CliError, EXIT } from '../exit-code.ts'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import { type TopologyOptions, topologyGiven } from '../lablets/definition-file.ts'
import { findDefinition } from '../lablets/find.ts'
import { DEFINITION_VIEW, printOne } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { addDefinitionOptions } from './create-definition.ts'
import { addEditTemplate } from './edit-template.ts'

interface EditOptions extends TopologyOptions {
  readonly title?: string
  readonly maxMinutes?: number
  readonly output?: Format
}

export function defineEdit(group: Command, shell: Shell): void {
  const noun = group
    .command('definition <id>')
    .alias('definitions')
    .description('change a definition; one that can be booked stays as it is, and its next version takes its place')
  addDefinitionOptions(noun)
    .addOption(formatOption())
    .action(async (idOrName: string, options: EditOptions, command: Command) =>
      edit(idOrName, options, invocation(command, shell)),
    )
  addEditTemplate(group, shell)
  const examples = [
    'lcm edit template metal --file metal.yaml           as `lcm apply` would',
    'lcm edit definition bgp-basics --file bgp.yaml      what is not given stays as it is',
    'lcm edit definition bgp-basics --max-minutes 120',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function edit(idOrName: string, options: EditOptions, invoked: Invocation): Promise<void> {
  const { title, maxMinutes: max_duration_minutes, output: format } = options
  const { shell, output, connect } = invoked
  const given = await topologyGiven(options)
  if (given === null && title === undefined && max_duration_minutes === undefined)
    throw new CliError(EXIT.usage, 'nothing is to be changed: give --file, --source, --title or --max-minutes')
  const { client } = await connect()
  const current = await findDefinition(client, idOrName, shell.signal)
  const changes = {
    ...(title === undefined ? {} : { title }),
    ...(max_duration_minutes === undefined ? {} : { max_duration_minutes }),
  }
  const call = { params: { id: current.id }, ifMatch: current.version, signal: shell.signal }
  const definition = await client.call('putDefinition', { ...call, body: { ...bodyOf(current, given), ...changes } })
  if (format !== undefined) return printOne(DEFINITION_VIEW, definition, { output, format, nowMs: shell.clock.now() })
  if (output.quiet) return
  const { name, id, definition_version, status } = definition
  const isSame = definition.version === current.version && id === current.id
  output.out(`definition ${name} ${definition_version} (${id}) is ${status}${isSame ? ', as it was' : ''}`)
}

type Body = BodyInput<'putDefinition'>

/** All that it says now, with another topology if one is given. */
function bodyOf(current: LabletDefinition, given: Awaited<ReturnType<typeof topologyGiven>>): Body {
  const { title, description, source, cml_version, license_affinity } = current
  const { max_duration_minutes, boot_lead_minutes, lab_reuse } = current
  const kept = { title, description, cml_version, license_affinity, max_duration_minutes, boot_lead_minutes, lab_reuse }
  const same = source === 'inline' ? { topology: current.topology ?? '' } : { source }
  return { ...kept, ...saidByAuthor(current), ...(given ?? same) }
}

/** What follows from the topology by itself is not said, so that it follows from the next one too. */
function saidByAuthor({ topology, needs, port_template }: LabletDefinition): Pick<Body, 'needs' | 'port_template'> {
  const read = topology === null ? null : Topology.safeParse(parse(topology, { uniqueKeys: false }))
  if (read === null || !read.success) return { needs: null, port_template: null }
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
  return {
    needs: isSame(needs, needsOf(read.data)) ? null : needs,
    port_template: isSame(port_template, portsOf(read.data)) ? null : port_template,
  }
}

import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findTemplate } from '../find-resource.ts'
import { addCapacityYes, confirmCapacityChange } from '../fleet/confirm-capacity-change.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne, TEMPLATE_VIEW } from '../resource-view.ts'

type Verb = 'enable' | 'disable'

interface Options {
  readonly output?: Format
  readonly yes?: boolean
}

const ROUTES = { enable: 'enableTemplate', disable: 'disableTemplate' } as const
const OUTCOMES = {
  enable: 'enabled: new workers can use it',
  disable: 'disabled: new workers can no longer use it',
} as const

export const defineEnable = (group: Command, shell: Shell): void => define(group, 'enable', shell)
export const defineDisable = (group: Command, shell: Shell): void => define(group, 'disable', shell)

function define(group: Command, verb: Verb, shell: Shell): void {
  const what =
    verb === 'enable'
      ? 'Allow new workers from a template'
      : 'Prevent new workers from a template; existing ones continue'
  const command = group.command('template <name>').alias('templates').description(what).addOption(formatOption())
  if (verb === 'disable') addCapacityYes(command)
  command.action(async (name: string, options: Options, invoked: Command) =>
    switchTemplate(verb, name, options, invocation(invoked, shell)),
  )
  group.addHelpText('afterAll', `\nExamples:\n  lcm ${verb} template metal`)
}

async function switchTemplate(
  verb: Verb,
  idOrName: string,
  { output: format, yes = false }: Options,
  invoked: Invocation,
): Promise<void> {
  const { shell, output, connect } = invoked
  const { client } = await connect()
  const { name } = await findTemplate(client, idOrName, shell.signal)
  if (verb === 'disable')
    await confirmCapacityChange(client, { name, change: { removed_templates: [name] }, yes }, invoked)
  const template = await client.call(ROUTES[verb], { params: { name }, signal: shell.signal })
  if (format !== undefined) return printOne(TEMPLATE_VIEW, template, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`template ${name} ${OUTCOMES[verb]}`)
}

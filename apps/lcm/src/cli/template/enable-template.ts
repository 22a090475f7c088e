import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findTemplate } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne, TEMPLATE_VIEW } from '../resource-view.ts'

type Verb = 'enable' | 'disable'

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
  group
    .command('template <name>')
    .alias('templates')
    .description(what)
    .addOption(formatOption())
    .action(async (name: string, options: { output?: Format }, command: Command) =>
      switchTemplate(verb, name, options, invocation(command, shell)),
    )
  group.addHelpText('afterAll', `\nExamples:\n  lcm ${verb} template metal`)
}

async function switchTemplate(
  verb: Verb,
  idOrName: string,
  { output: format }: { readonly output?: Format },
  { shell, output, connect }: Invocation,
): Promise<void> {
  const { client } = await connect()
  const { name } = await findTemplate(client, idOrName, shell.signal)
  const template = await client.call(ROUTES[verb], { params: { name }, signal: shell.signal })
  if (format !== undefined) return printOne(TEMPLATE_VIEW, template, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(`template ${name} ${OUTCOMES[verb]}`)
}

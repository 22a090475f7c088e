import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition, findTemplate, findWorker } from '../find-resource.ts'
import { invocation } from '../invocation.ts'
import { addLabVerb } from '../lab/lab-commands.ts'
import { addDeleteTarget } from '../notification/target-commands.ts'
import { addDeletePerson } from '../person/person-commands.ts'
import { findSave } from '../save/save-kind.ts'
import { TOKENS } from '../token/token-kind.ts'

export function defineDelete(group: Command, shell: Shell): void {
  group
    .command('worker <id>')
    .alias('workers')
    .description('Delete the record of a TERMINATED worker')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { id, name } = await findWorker(client, idOrName, shell.signal)
      await client.call('deleteWorker', { params: { id }, signal: shell.signal })
      if (!output.quiet) output.out(`record of ${name} (${id}) deleted`)
    })
  group
    .command('definition <id>')
    .alias('definitions')
    .description('Delete one version of a definition that no session uses')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { id, name, definition_version } = await findDefinition(client, idOrName, shell.signal)
      await client.call('deleteDefinition', { params: { id }, signal: shell.signal })
      if (!output.quiet) output.out(`definition ${name} ${definition_version} (${id}) deleted`)
    })
  addLabVerb(group, 'delete', shell)
  group
    .command('template <name>')
    .alias('templates')
    .description('Delete a template that no worker uses')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { name } = await findTemplate(client, idOrName, shell.signal)
      await client.call('deleteTemplate', { params: { name }, signal: shell.signal })
      if (!output.quiet) output.out(`template ${name} deleted`)
    })
  group
    .command('save <id>')
    .alias('saves')
    .description('Delete saved work permanently')
    .action(async (id: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await findSave(client, id, shell.signal)
      await client.call('deleteSave', { params: { id }, signal: shell.signal })
      if (!output.quiet) output.out(`save ${id} deleted`)
    })
  addDeletePerson(group, shell)
  group
    .command('token <id>')
    .alias('tokens')
    .description('Revoke an API token and end all sign-ins of its person')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { id, name } = await TOKENS.find(client, idOrName, shell.signal)
      await client.call('deleteToken', { params: { id }, signal: shell.signal })
      if (!output.quiet) output.out(`token ${name} (${id}) revoked`)
    })
  addDeleteTarget(group, shell)
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm terminate worker metal-3 --wait && lcm delete worker metal-3
  lcm delete definition bgp-basics
  lcm delete template metal
  lcm delete save sv-0n4k2m7a8q1cd
  lcm delete person "Jane Doe"
  lcm delete token ci
  lcm delete target ops
  lcm delete lab lr-0n4k2m7a8q1cd --yes --wait     remove it from its worker without confirmation`

import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition } from '../find-resource.ts'
import { invocation } from '../invocation.ts'

export function defineDeprecate(group: Command, shell: Shell): void {
  group
    .command('definition <id>')
    .alias('definitions')
    .description('Deprecate a definition; existing sessions continue')
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .action(async (idOrName: string, { reason }: { reason?: string }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { id } = await findDefinition(client, idOrName, shell.signal)
      const call = { params: { id }, body: { reason }, signal: shell.signal }
      const { name, definition_version, status } = await client.call('deprecateDefinition', call)
      if (!output.quiet) output.out(`definition ${name} ${definition_version} (${id}) is ${status}`)
    })
  group.addHelpText('afterAll', '\nExamples:\n  lcm deprecate definition bgp-basics --reason "use bgp-2026"')
}

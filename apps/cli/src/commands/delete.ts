import type { Command } from 'commander'
import { findWorker } from '../find.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

export function defineDelete(group: Command, shell: Shell): void {
  group
    .command('worker <id>')
    .alias('workers')
    .description('remove the record of a TERMINATED worker')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { id, name } = await findWorker(client, idOrName, shell.signal)
      await client.call('deleteWorker', { params: { id }, signal: shell.signal })
      if (!output.quiet) output.out(`the record of ${name} (${id}) is removed`)
    })
  group.addHelpText('afterAll', '\nExamples:\n  lcm terminate worker metal-3 --wait && lcm delete worker metal-3')
}

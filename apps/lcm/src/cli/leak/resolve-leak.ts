import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { invocation } from '../invocation.ts'
import { LEAKS } from '../resource-kinds.ts'

export function defineResolve(group: Command, shell: Shell): void {
  group
    .command('leak <id>')
    .alias('leaks')
    .description('Mark a leaked license as resolved')
    .option('--reason <text>', 'How it was resolved, recorded in the audit log')
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { worker_name } = await LEAKS.find(client, id, shell.signal)
      await client.call('resolveLicenseLeak', { params: { id }, body: { reason }, signal: shell.signal })
      if (!output.quiet) output.out(`leak ${id} of ${worker_name} resolved`)
    })
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm get leaks                                        licenses that may still count in the Smart Account
  lcm resolve leak LEAK --reason "removed in CSSM"     LEAK is an id of that list`

import type { Command } from 'commander'
import { invocation } from '../invocation.ts'
import { LEAKS } from '../kinds.ts'
import type { Shell } from '../shell.ts'

export function defineResolve(group: Command, shell: Shell): void {
  group
    .command('leak <id>')
    .alias('leaks')
    .description('say that a licence which went down with its machine has been dealt with')
    .option('--reason <text>', 'what was done, for those who ask later')
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const { worker_name } = await LEAKS.find(client, id, shell.signal)
      await client.call('resolveLicenseLeak', { params: { id }, body: { reason }, signal: shell.signal })
      if (!output.quiet) output.out(`leak ${id} of ${worker_name} is resolved`)
    })
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm get leaks                                        which licences the Smart Account may still count
  lcm resolve leak LEAK --reason "removed by hand"     LEAK as the list names it`

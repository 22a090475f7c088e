import type { Command } from 'commander'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

export function defineServices(services: Command, shell: Shell): void {
  services
    .command('reset-term <service>')
    .description('let the epochs of a service begin anew, after etcd was rebuilt or a store restored')
    .action(async (service: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      await client.call('resetTerm', { params: { service }, signal: shell.signal })
      if (!output.quiet) output.out(`the term of ${service} is reset: its next leader will be accepted`)
    })
  services.addHelpText('afterAll', '\nExamples:\n  lcm services reset-term worker-controller')
}

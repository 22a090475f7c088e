import type { Command } from 'commander'
import { findWorker } from '../find.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { describeWorker } from '../worker-description.ts'

export function defineDescribe(describe: Command, shell: Shell): void {
  describe
    .command('worker <id>')
    .alias('workers')
    .description('show one worker: what it waits for, its boot stages, launch and history')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const worker = await findWorker(client, idOrName, shell.signal)
      describeWorker(worker, shell.clock.now(), output.colors).forEach(output.out)
    })
  describe.addHelpText('afterAll', '\nExamples:\n  lcm describe worker metal-3')
}

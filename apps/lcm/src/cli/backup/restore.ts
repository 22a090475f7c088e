import type { Command } from 'commander'
import { dataDirOf } from '../connection.ts'
import { runHosted } from '../host/run-hosted.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

export function defineRestore(restore: Command, shell: Shell): void {
  restore
    .argument('<file>', 'what `lcm backup` wrote')
    .action(async (file: string, _: unknown, command: Command) => {
      const invoked = invocation(command, shell)
      const dataDir = dataDirOf(invoked.globals, shell.env)
      await runHosted(invoked, (host, io) => host.restore({ file, dataDir }, io))
    })
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The folder must be new or empty. LCM then looks at every worker before it does anything by itself.

Examples:
  lcm restore fleet.backup --data .lcm-restored
  lcm up --data .lcm-restored`

import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { dataDirOf } from '../connection.ts'
import { runInProcess } from '../host/run-in-process.ts'
import { invocation } from '../invocation.ts'
import { readPassphrase } from './read-passphrase.ts'

export function defineRestore(restore: Command, shell: Shell): void {
  restore
    .argument('<file>', 'File created by `lcm backup`')
    .option('--passphrase-file <path>', 'File with the passphrase of an encrypted backup')
    .action(async (file: string, { passphraseFile }: { passphraseFile?: string }, command: Command) => {
      const invoked = invocation(command, shell)
      const dataDir = dataDirOf(invoked.globals, shell.env)
      const passphrase = await readPassphrase(passphraseFile)
      await runInProcess(invoked, (host, io) => host.restore({ file, dataDir, passphrase }, io))
    })
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The data folder must be new or empty. After a restore, LCM observes every worker before it changes anything.

Examples:
  lcm restore fleet.backup --data .lcm-restored
  lcm restore fleet.backup --passphrase-file passphrase.txt
  lcm up --data .lcm-restored`

import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { findWorker } from '../find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { readSecret } from '../terminal/secret-input.ts'

interface CredentialsOptions {
  readonly username: string
  readonly passwordFile?: string
}

export function defineSet(set: Command, shell: Shell): void {
  set
    .command('credentials <worker>')
    .description('set the CML account that LCM logs in with on a worker')
    .option('--username <name>', 'name of the CML account', 'admin')
    .option('--password-file <file>', 'file with the password; otherwise it is read from standard input or asked for')
    .action(async (idOrName: string, options: CredentialsOptions, command: Command) =>
      setCredentials(idOrName, options, invocation(command, shell)),
    )
  set.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The password is never an argument, because other users of the machine could read it. LCM tries it at once.

Examples:
  lcm set credentials metal-3                                asks for the password, without showing it
  lcm set credentials metal-3 --username lcm --password-file password.txt
  pass show cml | lcm set credentials metal-3`

async function setCredentials(idOrName: string, options: CredentialsOptions, invoked: Invocation): Promise<void> {
  const { shell, output } = invoked
  const { client } = await invoked.connect()
  const worker = await findWorker(client, idOrName, shell.signal)
  const { username, passwordFile: file } = options
  const password = (await readSecret('password', { file, worker }, invoked)).replace(/\r?\n$/, '')
  if (password === '')
    throw new CliError(EXIT.usage, 'there is no password: give one with --password-file, or on standard input')
  const { id, name } = worker
  await client.call('putWorkerCredentials', { params: { id }, body: { username, password }, signal: shell.signal })
  if (!output.quiet) output.out(`LCM logs in to the CML of ${name} (${id}) as ${username}`)
}

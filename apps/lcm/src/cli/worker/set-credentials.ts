import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { readSecret } from './read-secret.ts'

interface CredentialsOptions {
  readonly username: string
  readonly passwordFile?: string
}

export function defineSetCredentials(set: Command, shell: Shell): void {
  set
    .command('credentials <worker>')
    .description('Set the CML account that LCM uses to log in to a worker')
    .option('--username <name>', 'Name of the CML account', 'admin')
    .option('--password-file <file>', 'File with the password (default: standard input, or a prompt)')
    .action(async (idOrName: string, options: CredentialsOptions, command: Command) =>
      setCredentials(idOrName, options, invocation(command, shell)),
    )
}

async function setCredentials(idOrName: string, options: CredentialsOptions, invoked: Invocation): Promise<void> {
  const { shell, output } = invoked
  const { client } = await invoked.connect()
  const worker = await findWorker(client, idOrName, shell.signal)
  const { username, passwordFile: file } = options
  const password = (await readSecret('password', { file, owner: `${worker.name} (${worker.id})` }, invoked)).replace(
    /\r?\n$/,
    '',
  )
  if (password === '') throw new CliError(EXIT.usage, 'the password is empty', 'use --password-file or standard input')
  const { id, name } = worker
  await client.call('putWorkerCredentials', { params: { id }, body: { username, password }, signal: shell.signal })
  if (!output.quiet) output.out(`LCM will log in to CML on ${name} (${id}) as ${username}`)
}

import { UnreachableError } from '@lcm/client/client'
import type { Command } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { ConnectionError } from '../connection.ts'
import { runInProcess } from '../host/run-in-process.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { readPassphrase } from './read-passphrase.ts'
import { saveFile } from './save-file.ts'

interface BackupFlags {
  readonly force?: boolean
  readonly passphraseFile?: string
}

export function defineBackup(backup: Command, shell: Shell): void {
  backup
    .argument('<file>', 'Backup file, readable only by you')
    .option('--force', 'Overwrite an existing file')
    .option('--passphrase-file <path>', 'Encrypt the backup with the passphrase in this file')
    .action(async (file: string, flags: BackupFlags, command: Command) =>
      runBackup(file, flags, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
LCM keeps running during the backup. Protect the file like the data folder: it can decrypt every stored secret. With
--passphrase-file the file is encrypted, and can be restored only with the passphrase.

Examples:
  lcm backup fleet.backup
  lcm backup --force /mnt/backups/fleet.backup
  lcm backup --passphrase-file passphrase.txt fleet.backup
  lcm restore fleet.backup --data .lcm-restored`

const PROTECT = 'Protect it like the data folder: it can decrypt every secret of this LCM.'
const KEEP_PASSPHRASE = 'Keep the passphrase somewhere else: without it the backup cannot be restored.'

async function runBackup(file: string, flags: BackupFlags, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const { force = false } = flags
  const passphrase = await readPassphrase(flags.passphraseFile)
  const { client } = await connect()
  const chunks = async () => {
    const plain = unbroken(await client.download('createBackup', { signal: shell.signal }))
    return passphrase === null ? plain : (await shell.loadHost()).encryptBackup(plain, passphrase)
  }
  const check = (written: string) =>
    runInProcess(invoked, host => host.checkBackup(written, passphrase)).catch(refuseTorn)
  const bytes = await saveFile(file, chunks, { force, check })
  if (!output.quiet) output.out(`backup saved to ${file} (${(bytes / 1_000_000).toFixed(1)} MB)`)
  output.note(passphrase === null ? PROTECT : KEEP_PASSPHRASE)
}

async function* unbroken(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (cause) {
    if (!(cause instanceof UnreachableError)) throw cause
    throw new ConnectionError('the download was interrupted and no file was kept', 'try again', { cause })
  }
}

/** A proxy may end a download early and still report success. */
function refuseTorn(error: unknown): never {
  if (!(error instanceof CliError)) throw error
  throw new CliError(
    EXIT.failed,
    'the downloaded backup is incomplete and was not kept',
    'try again, without a proxy if you use one',
  )
}

import { UnreachableError } from '@lcm/client/api-error'
import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { runHosted } from '../host/run-hosted.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { saveFile } from './save-file.ts'

interface BackupFlags {
  readonly force?: boolean
}

export function defineBackup(backup: Command, shell: Shell): void {
  backup
    .argument('<file>', 'where to put it; only you will be able to read it')
    .option('--force', 'replace the file if it is there already')
    .action(async (file: string, flags: BackupFlags, command: Command) =>
      runBackup(file, flags, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Work goes on meanwhile. Keep the file as safe as the data folder: it opens every secret in it.

Examples:
  lcm backup fleet.backup
  lcm backup --force /mnt/backups/fleet.backup
  lcm restore fleet.backup --data .lcm-restored`

async function runBackup(file: string, { force = false }: BackupFlags, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const { client } = await connect()
  const chunks = async () => unbroken(await client.download('createBackup', { signal: shell.signal }))
  const check = (written: string) => runHosted(invoked, host => host.checkBackup(written)).catch(refuseTorn)
  const bytes = await saveFile(file, chunks, { force, check })
  if (!output.quiet) output.out(`${file} holds a whole backup of ${(bytes / 1_000_000).toFixed(1)} MB`)
  output.note('Keep it as safe as the data folder: it opens every secret of this LCM.')
}

async function* unbroken(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (cause) {
    if (!(cause instanceof UnreachableError)) throw cause
    throw new UnreachableError('the download broke off and nothing of it was kept: repeat it', { cause })
  }
}

/** A proxy in between may end a download early and call it whole. */
function refuseTorn(error: unknown): never {
  if (!(error instanceof CliError)) throw error
  throw new CliError(
    EXIT.failed,
    'what came is no whole backup and was not kept: repeat it, without a proxy in between',
  )
}

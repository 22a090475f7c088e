import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from '../cli-error.ts'
import { readTextFile } from '../files/text-file.ts'
import type { Invocation } from '../invocation.ts'
import { secretLine } from '../terminal/keyboard.ts'

/** Reads a secret for a worker from a file, standard input or a prompt without echo. */
export async function readSecret(
  what: 'token' | 'password',
  { file, worker }: { file: string | undefined; worker: Worker },
  invoked: Invocation,
): Promise<string> {
  return file === undefined ? typedOrPiped(what, worker, invoked) : secretIn(what, file)
}

export const secretIn = (what: string, file: string): Promise<string> =>
  readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      EXIT.failed,
      `${file} can't be read (${error.code})`,
      `use a file that contains only the ${what}`,
    )
  })

async function typedOrPiped(what: string, worker: Worker, { shell, output }: Invocation): Promise<string> {
  if (shell.keys === null) return (await shell.readInput?.()) ?? ''
  // Echo is turned off before the prompt appears, so that fast typing is not shown.
  const typing = secretLine(shell.keys, shell.signal)
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)}`
  output.ask(`${title} for ${worker.name} (${worker.id}), input hidden: `)
  const typed = await typing
  output.warn('')
  if (typed === null) throw new CliError(EXIT.interrupted, `interrupted: ${worker.name} was not changed`)
  return typed
}

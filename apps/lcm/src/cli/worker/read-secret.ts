import { CliError, EXIT } from '../cli-error.ts'
import { readTextFile } from '../files/text-file.ts'
import type { Invocation } from '../invocation.ts'
import { secretLine } from '../terminal/keyboard.ts'

/** Reads a secret from a file, standard input or a prompt without echo. */
export async function readSecret(
  what: 'token' | 'password',
  { file, owner }: { file: string | undefined; owner: string },
  invoked: Invocation,
): Promise<string> {
  return file === undefined ? typedOrPiped(what, owner, invoked) : secretIn(what, file)
}

export const secretIn = (what: string, file: string): Promise<string> =>
  readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      EXIT.failed,
      `${file} can't be read (${error.code})`,
      `use a file that contains only the ${what}`,
    )
  })

async function typedOrPiped(what: string, owner: string, { shell, output }: Invocation): Promise<string> {
  if (shell.keys === null) return (await shell.readInput?.()) ?? ''
  // Echo is turned off before the prompt appears, so that fast typing is not shown.
  const typing = secretLine(shell.keys, shell.signal)
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)}`
  output.ask(`${title} for ${owner}, input hidden: `)
  const typed = await typing
  output.warn('')
  if (typed === null) throw new CliError(EXIT.interrupted, `interrupted: ${owner} was not changed`)
  return typed
}

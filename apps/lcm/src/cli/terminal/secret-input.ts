import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from '../exit-code.ts'
import { readTextFile } from '../files/text-file.ts'
import type { Invocation } from '../invocation.ts'
import { secretLine } from './keyboard.ts'

/** A secret for a worker: from a file, from standard input, or typed by a person without being shown. Never an argument. */
export async function readSecret(
  what: 'token' | 'password',
  { file, worker }: { file: string | undefined; worker: Worker },
  invoked: Invocation,
): Promise<string> {
  return file === undefined ? typedOrPiped(what, worker, invoked) : secretIn(what, file)
}

const secretIn = (what: string, file: string): Promise<string> =>
  readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code}): give a file with the ${what} alone`)
  })

async function typedOrPiped(what: string, worker: Worker, { shell, output }: Invocation): Promise<string> {
  if (shell.keys === null) return (await shell.readInput?.()) ?? ''
  // Listened to before it is asked for: the terminal would show what a quick hand types in between.
  const typing = secretLine(shell.keys, shell.signal)
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)}`
  output.ask(`${title} for ${worker.name} (${worker.id}), not shown: `)
  const typed = await typing
  output.warn('')
  if (typed === null) throw new CliError(EXIT.interrupted, `interrupted: ${worker.name} was left alone`)
  return typed
}

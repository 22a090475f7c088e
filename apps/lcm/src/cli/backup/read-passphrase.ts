import { CliError, EXIT } from '../cli-error.ts'
import { readTextFile } from '../files/text-file.ts'

const CHARS_MIN = 12

/** The first line of a file; null without a file. */
export async function readPassphrase(file: string | undefined): Promise<string | null> {
  if (file === undefined) return null
  const text = await readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.usage, `${file} can't be read (${error.code})`, 'choose another file')
  })
  const passphrase = text.split(/\r?\n/)[0] ?? ''
  if (passphrase.length >= CHARS_MIN) return passphrase
  const message = `the first line of ${file} has fewer than ${CHARS_MIN} characters`
  throw new CliError(EXIT.usage, message, 'write a longer passphrase into it')
}

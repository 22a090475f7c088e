import { CliError, EXIT } from '../cli-error.ts'
import type { Invocation } from '../invocation.ts'
import { printable } from './table.ts'

export interface Confirmation {
  readonly id: string
  /** The text that must be typed. */
  readonly name: string
  /** Such as `terminating`. */
  readonly action: string
  readonly loss: string
  /** Such as `its name`. */
  readonly expected: string
}

/** Asks for the name before an action that can't be undone. Without a terminal, the command needs `--yes`. */
export function confirmByName({ id, name, action, loss, expected }: Confirmation, invoked: Invocation): Promise<void> {
  const title = action.charAt(0).toUpperCase() + action.slice(1)
  const warning = `${title} ${printable(name)} (${id}) permanently deletes ${loss}.`
  return confirmWarning({ name, expected, warning }, invoked)
}

interface Warned extends Pick<Confirmation, 'name' | 'expected'> {
  /** What happens, in whole sentences. */
  readonly warning: string
}

/** Says what happens and asks for the name. Without a terminal, the command needs `--yes`. */
export async function confirmWarning(
  { name, expected, warning }: Warned,
  { shell, output }: Invocation,
): Promise<void> {
  if (shell.readLine === null) {
    const message = warning.charAt(0).toLowerCase() + warning.slice(1).replace(/\.$/, '')
    throw new CliError(EXIT.usage, message, 'add --yes to confirm')
  }
  output.ask(`${warning} Type ${expected} to confirm: `)
  const typed = await shell.readLine()
  const unchanged = `${printable(name)} was not changed`
  if (shell.signal.aborted) throw new CliError(EXIT.interrupted, `interrupted: ${unchanged}`)
  if (typed?.trim() !== name)
    throw new CliError(EXIT.failed, `confirmation failed, that is not ${expected}: ${unchanged}`)
}
